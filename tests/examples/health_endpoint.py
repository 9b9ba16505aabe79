"""Asks the example as a load balancer does, beside clients that send nothing or nonsense.

Usage: health_endpoint.py EXAMPLE
"""
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

PATIENCE = 20


def ask(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode()


def wait_for(url: str, wanted: tuple[int, str]) -> None:
    end = time.monotonic() + PATIENCE
    while (seen := ask(url)) != wanted:
        assert time.monotonic() < end, f"{url}: {seen} instead of {wanted}"
        time.sleep(0.01)


def answer_to(port: int, request: bytes) -> bytes:
    """What the server sends until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
        client.sendall(request)
        return b"".join(iter(lambda: client.recv(4096), b""))


def check(example: subprocess.Popen[str], url: str) -> None:
    def tell(word: str) -> None:
        example.stdin.write(word + "\n")
        example.stdin.flush()

    port = int(url.rsplit(":", 1)[1])
    wait_for(url + "/ready", (503, "no connection: refused\n"))
    assert ask(url + "/live") == (200, "alive\n")
    with socket.create_connection(("127.0.0.1", port)):  # is silent
        tell("up")
        wait_for(url + "/ready", (200, "0 in use, 0 waiting\n"))
    for path in "/", "/readyy", "/live/..":
        assert ask(url + path) == (404, "no such page\n"), path
    assert answer_to(port, b"no request\r\n\r\n") == b""
    assert answer_to(port, b"GET /live HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 200 OK\r\n")
    tell("stop")
    wait_for(url + "/ready", (503, "shutting down\n"))
    assert ask(url + "/live") == (200, "alive\n")


with subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
    try:
        check(process, process.stdout.readline().strip())
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    finally:
        process.kill()
