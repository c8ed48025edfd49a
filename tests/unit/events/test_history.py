from itertools import permutations

from ragcore.events.history import active_key, channel, history_key


def test_keys_of_one_instance_never_are_anothers() -> None:
    names = ("a.localhost", "b.localhost", "a", "a}:b")
    for one, other in permutations(names, 2):
        assert channel(one) != channel(other)
        assert active_key(one) != active_key(other)
        assert history_key(one, "") != history_key(other, "")


def test_keys_of_one_instance_are_in_one_slot_of_a_cluster() -> None:
    keys = (channel("a.localhost"), active_key("a.localhost"), history_key("a.localhost", "q"))
    assert {key[key.index("{") : key.index("}") + 1] for key in keys} == {"{a.localhost}"}


def test_the_rest_of_an_instance_has_its_own_history() -> None:
    assert history_key("d", "") != history_key("d", "q")
