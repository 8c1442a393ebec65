"""Every address there is, with each of several ids."""

from memoryapp.proof.addresses import addresses, addresses_of_many

ONE, OTHER = "01a22ec6-1a19-78a3-a173-cd7fdbb02107", "01a22ec6-1a19-78a3-a173-cd7fdbb02108"


def test_a_pattern_gives_an_address_for_each_id():
    found = set(addresses_of_many({"memory_id": [ONE, OTHER]}))

    assert {f"/memory/facts/{id_}/" for id_ in (ONE, OTHER)} <= found
    assert {f"/api/v1/memories/{id_}/versions" for id_ in (ONE, OTHER)} <= found


def test_a_pattern_with_several_parameters_gives_one_for_each_combination():
    found = addresses_of_many({"turn_id": [ONE, OTHER], "memory_id": [ONE, OTHER]}, under="/t/")

    assert sum(address.endswith("/take-back") for address in found) == 4


def test_what_has_no_id_has_an_address_that_leads_nowhere():
    assert "/memory/facts/00000000-0000-7000-8000-000000000000/" in set(addresses({}))
    assert set(addresses({})) == set(addresses_of_many({"memory_id": []}))
