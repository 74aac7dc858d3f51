"""What must be running: a broker, a database …, each embedded or given by address.

A service is a package of its own below this one, or of somebody else, registered in the entry-point
group `streamgauge.services`.
"""
