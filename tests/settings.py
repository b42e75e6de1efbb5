"""Settings by name, as the command line has them, in the groups that constructors take."""

from dataclasses import fields, is_dataclass, replace

from dpaudit import registry
from dpaudit.config.settings import Training
from dpaudit.judging.plan_request import PlanRequest
from dpaudit.training.recipe import Recipe


def make_mechanism(mechanism, data, **settings):
    """A mechanism of these settings; noise that is given takes the place of the epsilon."""
    if "noise_multiplier" in settings:
        settings.setdefault("epsilon", None)
    unknown = settings.keys() - registry.parameters(mechanism).keys()
    assert not unknown
    return mechanism(**registry.arguments(mechanism, {**settings, "data": data}))


def recipe(**settings):
    """A recipe of these settings."""
    names = [field.name for field in fields(Training)]
    training = Training(**{n: settings.pop(n) for n in names if n in settings})
    return Recipe(training, **settings)


def change(whole, **settings):
    """The same with other settings, wherever in its groups they are."""
    own = {f.name: getattr(whole, f.name) for f in fields(whole)}
    here = {n: settings.pop(n) for n in list(settings) if n in own}
    for name, group in own.items():
        if name not in here and is_dataclass(group):
            inside = {f.name for f in fields(group)} & settings.keys()
            here[name] = replace(group, **{n: settings.pop(n) for n in inside})
    assert not settings
    return replace(whole, **here)


def plan_request(**settings):
    """A plan's request of these settings."""
    return PlanRequest(**registry.arguments(PlanRequest, settings))
