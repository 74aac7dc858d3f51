"""The engine `reference`: right answers through the real transport; a wrong one on demand.

It computes with the workload's own answers, so it says nothing about stream processing. It lets
the harness be tested without an engine's JVM, and shows that each kind of fault is found.
"""

from streamgauge.engines.reference.engine import ReferenceEngine

__all__ = ["ReferenceEngine"]
