"""Callbacks of `Module.fit` and `FeedForward.fit` that keep figures in data frames, and draw them while training goes on.

`fit(..., **PandasLogger(batch_size).callback_args())`; several at once by `args_wrapper`.
"""

from __future__ import annotations

import datetime
import time


class PandasLogger:
    """Keeps the figures of a run in three data frames of pandas: train_df, eval_df and epoch_df.

    A row of `train_df` every `frequent` batches of `batch_size` samples; of `eval_df` for each evaluation; of `epoch_df`
    for each epoch, with its time.
    """

    def __init__(self, batch_size, frequent=50):
        import pandas

        self.batch_size, self.frequent = batch_size, frequent
        self._dataframes = {name: pandas.DataFrame() for name in ("train", "eval", "epoch")}
        self.last_time = time.time()
        self.start_time = self.last_epoch_time = datetime.datetime.now()

    @property
    def train_df(self):
        """The figures of batches."""
        return self._dataframes["train"]

    @property
    def eval_df(self):
        """The figures of evaluations."""
        return self._dataframes["eval"]

    @property
    def epoch_df(self):
        """The times of epochs."""
        return self._dataframes["epoch"]

    @property
    def all_dataframes(self):
        """The three by name: train, eval, epoch."""
        return self._dataframes

    def elapsed(self):
        """Time since the beginning."""
        return datetime.datetime.now() - self.start_time

    def append_metrics(self, metrics, df_name):
        """Appends a row, a dictionary of figures, to a data frame; new names are new columns."""
        import pandas

        row = pandas.DataFrame({name: [value] for name, value in metrics.items()})
        before = self._dataframes[df_name]
        self._dataframes[df_name] = pandas.concat([before, row], ignore_index=True) if len(before) else row

    def train_cb(self, param):
        """A batch callback."""
        if param.nbatch % self.frequent == 0:
            self._process_batch(param, "train")

    def eval_cb(self, param):
        """A callback after an evaluation."""
        self._process_batch(param, "eval")

    def epoch_cb(self, *_):
        """An epoch callback."""
        now = datetime.datetime.now()
        self.append_metrics({"elapsed": self.elapsed(), "epoch_time": now - self.last_epoch_time}, "epoch")
        self.last_epoch_time = now

    def callback_args(self):
        """The keywords of `fit` that switch all of them on."""
        return {
            "batch_end_callback": self.train_cb,
            "eval_end_callback": self.eval_cb,
            "epoch_end_callback": self.epoch_cb,
        }

    def _process_batch(self, param, dataframe):
        now = time.time()
        metrics = _figures(param)
        speed = self.frequent / max(now - self.last_time, 1e-9)
        metrics |= {
            "batches_per_sec": speed,
            "records_per_sec": speed * self.batch_size,
            "elapsed": self.elapsed(),
            "minibatch_count": param.nbatch,
            "epoch": param.epoch,
        }
        self.append_metrics(metrics, dataframe)
        self.last_time = now


class LiveBokehChart:
    """A chart of bokeh in a notebook, drawn anew at most every `display_freq` seconds; subclasses say what is in it.

    Figures are those of `pandas_logger`, or of a new one for batch_size and frequent.
    """

    def __init__(self, pandas_logger, metric_name, display_freq=10, batch_size=None, frequent=50):
        import bokeh.io

        self.pandas_logger = pandas_logger or PandasLogger(batch_size, frequent)
        self.display_freq, self.metric_name, self.last_update = display_freq, metric_name, time.time()
        bokeh.io.output_notebook()
        self.handle = self.setup_chart()

    def setup_chart(self):
        """Draws the chart for the first time; gives bokeh's handle of it."""
        raise NotImplementedError(f"{type(self).__name__} must define setup_chart")

    def update_chart_data(self):
        """Puts new figures into the chart."""
        raise NotImplementedError(f"{type(self).__name__} must define update_chart_data")

    def interval_elapsed(self):
        """Whether it is time to draw again."""
        return time.time() - self.last_update > self.display_freq

    def batch_cb(self, param):
        """A batch callback."""
        if self.interval_elapsed():
            self._do_update()

    def eval_cb(self, param):
        """A callback after an evaluation, which draws at once."""
        self._do_update()

    def callback_args(self):
        """The keywords of `fit` that switch both on."""
        return {"batch_end_callback": self.batch_cb, "eval_end_callback": self.eval_cb}

    def _do_update(self):
        self.update_chart_data()
        self._push_render()

    def _push_render(self):
        import bokeh.io

        bokeh.io.push_notebook(handle=self.handle)
        self.last_update = time.time()


class LiveTimeSeries(LiveBokehChart):
    """A value over time: `update_chart_data(value)`. fig_params: keywords of bokeh's figure."""

    def __init__(self, **fig_params):
        self._fig_params = fig_params
        super().__init__(None, None)

    def setup_chart(self):
        import bokeh.plotting

        self.start_time, self.x_axis_val, self.y_axis_val = datetime.datetime.now(), [], []
        self.fig = bokeh.plotting.figure(x_axis_type="datetime", x_axis_label="Elapsed time", **self._fig_params)
        self.line = self.fig.line(self.x_axis_val, self.y_axis_val)
        return bokeh.plotting.show(self.fig, notebook_handle=True)

    def elapsed(self):
        """Time since the beginning."""
        return datetime.datetime.now() - self.start_time

    def update_chart_data(self, value):
        self.x_axis_val.append(self.elapsed())
        self.y_axis_val.append(value)
        self.line.data_source.data = {"x": list(self.x_axis_val), "y": list(self.y_axis_val)}
        self._push_render()


class LiveLearningCurve(LiveBokehChart):
    """A metric over time, in training and validation."""

    def __init__(self, metric_name, display_freq=10, frequent=50):
        self.frequent, self.start_time = frequent, datetime.datetime.now()
        self._data = {part: {"elapsed": []} for part in ("train", "eval")}
        super().__init__(None, metric_name, display_freq, None, frequent)

    def setup_chart(self):
        import bokeh.plotting

        self.fig = bokeh.plotting.figure(x_axis_type="datetime", x_axis_label="Training time")
        self._lines = {
            "train": self.fig.line([], [], line_dash="dotted", legend_label="train"),
            "eval": self.fig.line([], [], line_color="green", line_width=2, legend_label="validation"),
        }
        self.fig.legend.location = "bottom_right"
        self.fig.yaxis.axis_label = self.metric_name
        return bokeh.plotting.show(self.fig, notebook_handle=True)

    def batch_cb(self, param):
        if param.nbatch % self.frequent == 0:
            self._process_batch(param, "train")
        super().batch_cb(param)

    def eval_cb(self, param):
        self._process_batch(param, "eval")
        super().eval_cb(param)

    def update_chart_data(self):
        for part, line in self._lines.items():
            figures = self._data[part]
            line.data_source.data = {"x": figures["elapsed"], "y": figures.get(self.metric_name, [])}

    def _process_batch(self, param, part):
        for name, value in {**_figures(param), "elapsed": datetime.datetime.now() - self.start_time}.items():
            self._data[part].setdefault(name, []).append(value)


def args_wrapper(*args):
    """The keywords of `fit` that switch several callback objects on."""
    found: dict[str, list] = {}
    for callback in args:
        for name, function in callback.callback_args().items():
            found.setdefault(name, []).append(function)
    return found


def _figures(param) -> dict:
    """What the metric of a batch says, which then begins anew."""
    if param.eval_metric is None:
        return {}
    figures = dict(param.eval_metric.get_name_value())
    param.eval_metric.reset()
    return figures
