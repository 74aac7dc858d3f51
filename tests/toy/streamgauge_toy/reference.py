"""The toy on the reference engine: printed as it is expected."""


def printed(query: str, exact: bytes) -> bytes | None:
    return exact
