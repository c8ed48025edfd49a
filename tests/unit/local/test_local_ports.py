import socket

from deploy.local.ports import HOST, choose_ports


def test_each_name_gets_a_free_port_of_its_own() -> None:
    names = [f"server-{number}" for number in range(20)]
    ports = choose_ports(names, {})
    assert len(set(ports.values())) == len(names)
    for port in ports.values():
        with socket.socket() as listener:
            listener.bind((HOST, port))


def test_the_preferred_port_is_taken_only_when_it_is_free() -> None:
    free = choose_ports(["any"], {})["any"]
    assert choose_ports(["api"], {"api": free}) == {"api": free}
    with socket.socket() as taken:
        taken.bind((HOST, free))
        taken.listen()
        assert choose_ports(["api"], {"api": free})["api"] != free
