"""The one exception that mopt raises for models, artifacts and inputs that it refuses."""


class MoptError(RuntimeError):
    """One line that says what was found, what was expected and what to do.

    code  "MOPT-R034" and the like; docs/diagnostics.md lists them
    node  name of the ONNX node at fault, or ""
    """

    def __init__(self, message: str, code: str = "", node: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.node = node
