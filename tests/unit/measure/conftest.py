from hypothesis import settings

# How long an example takes says more about this machine's other work than about the code.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
