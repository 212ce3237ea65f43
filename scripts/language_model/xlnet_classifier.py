"""An XLNet with a classifier, and how texts become its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import core as mx
import gluonnlp as nlp
from core.files.atomic import write_bytes
from core.store import home
from gluon.data import DataLoader
from gluonnlp.published import File, fetch
from scripts.bert.text_classifier import padded_batches
from scripts.common.kept import keep, kept

PIECES = "pieces.model"
# The sentencepiece models that published weights come with: file and SHA-1
PUBLISHED = {
    "126gb": File(
        "xlnet_126gb-871f0b3c.spiece",
        "871f0b3c13b92fc5aea8fba054a214c420e302fd",
        "gluon/dataset/vocab/xlnet_126gb-871f0b3c.zip",
        None,
    )
}


def published_pieces(dataset: str) -> Path:
    """The sentencepiece model of the weights published for `dataset`, downloaded where it is not there yet.

    DownloadError where it cannot be had, SystemExit for another data set.
    """
    if dataset not in PUBLISHED:
        raise SystemExit(f"--dataset {dataset} has no published pieces, give them as --sentencepiece")
    return Path(fetch(PUBLISHED[dataset], str(Path(home()) / "models")))


class XLNetTextClassifier:
    """What a TextClassifier is to a BERT: the network, and how texts become its inputs.

    xlnet: an XLNetModel without decoder, settings: what `named_xlnet` builds it from. pieces: file of the sentencepiece
    model that cuts texts. labels: their names in the order of the scores; empty for a regression. max_len: pieces of a
    text.
    """

    def __init__(self, xlnet, vocab: nlp.Vocab, settings: dict, pieces: Path, *, labels: list[str], max_len: int):
        units = xlnet._net._units
        self.net = nlp.model.XLNetClassifier(xlnet, units=units, num_classes=len(labels) or 1, dropout=0.1)
        self.vocab, self.labels = vocab, labels
        self._settings, self._pieces, self._max_len = settings, pieces, max_len
        self._tokenizer = nlp.data.SentencepieceTokenizer(str(pieces))

    def inputs(self, texts: Iterable[Sequence[str]]) -> list[tuple]:
        """Of each text, or pair of texts: token indices, their number, segment indices."""
        return [self._input(text) for text in texts]

    def batches(self, samples: list[tuple], batch_size: int, *, shuffle: bool, round_to: int = 8) -> DataLoader:
        """Batches of samples `(*inputs, label)`, in which texts of similar length are together."""
        return padded_batches(samples, batch_size, shuffle, (self.vocab["<pad>"], 1), round_to)

    def scores(self, batch, context: mx.Context):
        """The scores (batch, labels) of a batch's tokens, lengths and segments."""
        tokens, lengths, segments = (field.as_in_context(context) for field in batch)
        return self.net(tokens, segments, lengths)

    def save(self, folder: Path) -> None:
        """Writes the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(folder / PIECES, self._pieces.read_bytes())
        keep(folder, self.net, self.vocab, {**self._settings, "labels": self.labels, "max_len": self._max_len})

    @classmethod
    def load(cls, folder: Path, ctx: mx.Context) -> XLNetTextClassifier:
        """What `save` wrote."""
        settings, vocab, parameters = kept(folder)
        how = {name: settings.pop(name) for name in ("labels", "max_len")}
        classifier = cls(named_xlnet(vocab, **settings), vocab, settings, folder / PIECES, **how)
        classifier.net.load_parameters(parameters, ctx=ctx)
        return classifier

    def _input(self, text: Sequence[str]) -> tuple:
        """Each text with <sep> behind it, and <cls> last of all; the longer one is cut first."""
        parts = [self._tokenizer(part) for part in text]
        while sum(len(part) + 1 for part in parts) + 1 > self._max_len:
            max(parts, key=len).pop()
        tokens, segments = [], []
        for number, part in enumerate(parts):
            tokens += [*part, "<sep>"]
            segments += [number] * (len(part) + 1)
        return self.vocab[[*tokens, "<cls>"]], len(tokens) + 1, [*segments, len(parts) - 1]


def named_xlnet(vocab: nlp.Vocab, model_name: str, **settings) -> nlp.model.XLNetModel:
    """The network called `model_name` for the pieces of `vocab`, without decoder; settings: what differs from it."""
    return nlp.model.get_model(
        model_name, vocab=vocab, pretrained=False, use_decoder=False, hparam_allow_override=True, **settings
    )[0]


def vocabulary(pieces: Path) -> nlp.Vocab:
    """The pieces of a sentencepiece model of XLNet at their own indices.

    SystemExit where it has no <cls>, <sep> and <pad>.
    """
    tokens = nlp.data.SentencepieceTokenizer(str(pieces)).tokens
    if missing := [mark for mark in ("<cls>", "<sep>", "<pad>", "<unk>") if mark not in tokens]:
        raise SystemExit(f"{pieces} has no piece {missing[0]}, which XLNet's texts end with or are filled up with")
    places = {token: i for i, token in enumerate(tokens)}
    marks = {"unknown_token": "<unk>", "padding_token": "<pad>", "bos_token": None, "eos_token": None}
    return nlp.Vocab(nlp.data.count_tokens(tokens), token_to_idx=places, **marks)
