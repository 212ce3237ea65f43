"""Shapes of a symbol's outputs for printing, under the name by which MXNet's examples import it."""


class SymbolDoc:
    """Base of what MXNet's documentation of operators is written in; programs use its one function."""

    @staticmethod
    def get_output_shape(sym, **input_shapes) -> dict:
        """The shapes of the outputs of `sym` by name, for inputs of the given shapes."""
        _, shapes, _ = sym.infer_shape(**input_shapes)
        return dict(zip(sym.list_outputs(), shapes, strict=True))
