"""Run programs on an emulated Debian for arm64: `python -m tests.aarch64 [--cpu CPU] COMMAND ...`.

The command runs in this checkout, with the packages that the tests need:

    python -m tests.aarch64 python3 -m pytest -q tests/compiler/test_linker.py

`--install` installs stagec into a fresh environment instead, by the README's commands, and runs `stagec demo`.

The first call makes the system, in `.pytest_cache/aarch64` and nowhere else: of Debian's packages, from the sources
that apt has on this machine, and of wheels, from pip's index. QEMU translates the instructions of its processes. A
namespace holds what the kernel has to know for that, so nothing is installed or registered on this machine, and nobody
has to be root. That takes Linux 6.7, apt, and permission to make namespaces of users.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".pytest_cache" / "aarch64"
SYSTEM, _WHEELS, _QEMU = FOLDER / "system", FOLDER / "wheels", "qemu-aarch64-static"
_PACKAGES = "ca-certificates coreutils dash libc-bin libstdc++6 python3-venv".split()
# What the tests need on the machine that starts the emulator only.
_LEFT_OUT = ("stagec", "ruff", "mypy", "playwright", "nvidia", "z3")
# Processors that QEMU knows, and what Linux calls the model: from the first version of the architecture to the newest.
MODELS = {"cortex-a72": "0xd08", "neoverse-n1": "0xd0c", "max": ""}
# The names of the bits of AT_HWCAP and AT_HWCAP2, which /proc/cpuinfo has; not all of the second.
_FEATURES = (
    "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm jscvt fcma lrcpc dcpop sha3 sm3 "
    "sm4 asimddp sha512 sve asimdfhm dit uscat ilrcpc flagm ssbs sb paca pacg",
    "dcpodp sve2 sveaes svepmull svebitperm svesha3 svesm4 flagm2 frint svei8mm svef32mm svef64mm svebf16 i8mm bf16 "
    "dgh rng bti mte",
)
# The beginning of a program for aarch64, and which of its bits count; the kernel opens the emulator at once.
_MAGIC = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
_MASK = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
_NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")
_PROGRAMS = "mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc"
_ENTER = f"""
set -e
system=$1 rule=$2 cpuinfo=$3 checkout=$4; shift 4
{_PROGRAMS}
printf %s "$rule" >/proc/sys/fs/binfmt_misc/register
for folder in dev proc sys; do mount --rbind /$folder "$system/$folder"; done
mount --bind "$checkout" "$system/stagec"
test -z "$cpuinfo" || mount --bind "$cpuinfo" "$system/proc/cpuinfo"
exec chroot "$system" env -C /stagec "$@"
"""
_ENVIRONMENT = {
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "PATH": "/usr/local/bin:/usr/sbin:/usr/bin",
    "PYTHONPATH": "/stagec",
    "PYTHONPYCACHEPREFIX": "/var/cache/python",
    "STAGEC_CACHE_DIR": "/var/cache/stagec",
}


class MissingError(Exception):
    """This machine has not what the emulated system needs."""


def run(command: Sequence[str], cpu: str = "neoverse-n1", **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command in the emulated system, which is made if need be.

    Args:
      cpu: one of `MODELS`.
      options: those of `subprocess.run`; `env` is added to the environment.

    Raises:
      MissingError: there is no such system here.
    """
    make()
    cpuinfo = FOLDER / f"cpuinfo-{cpu}"
    if not cpuinfo.exists():
        code = "import ctypes; c = ctypes.CDLL(None).getauxval; c.restype = ctypes.c_ulong; print(c(16), c(26))"
        words = _entered(["python3", "-c", code], cpu, "", check=True, stdout=subprocess.PIPE).stdout.split()
        bits = zip(_FEATURES, map(int, words))
        names = [name for row, word in bits for bit, name in enumerate(row.split()) if word >> bit & 1]
        model = f"CPU implementer\t: 0x41\nCPU part\t: {MODELS[cpu]}\n" if MODELS[cpu] else ""
        cpuinfo.write_text(f"processor\t: 0\nFeatures\t: {' '.join(names)}\n{model}\n")
    return _entered(command, cpu, str(cpuinfo), **options)


def _entered(command: Sequence[str], cpu: str, cpuinfo: str, **options: Any) -> subprocess.CompletedProcess[str]:
    rule = f":stagec-aarch64:M::{_MAGIC}:{_MASK}:{FOLDER / 'tools/usr/bin' / _QEMU}:FP"
    options["env"] = {**_ENVIRONMENT, "QEMU_CPU": cpu, **options.get("env", {})}
    return subprocess.run(
        [*_NAMESPACE, "sh", "-c", _ENTER, "sh", str(SYSTEM), rule, cpuinfo, str(ROOT), *command], text=True, **options
    )


def install(cpu: str = "neoverse-n1") -> int:
    """Install stagec into a fresh environment, and run its demo; return the exit status."""
    make()
    source = SYSTEM / "tmp" / "source"
    shutil.rmtree(source, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name)
    shutil.copytree(_WHEELS, SYSTEM / "wheels", dirs_exist_ok=True, copy_function=os.link)
    environment = {"PYTHONPATH": "", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels", "PIP_NO_CACHE_DIR": "1"}
    steps = "rm -rf .venv && python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/stagec demo"
    return run(["sh", "-c", f"cd /tmp/source && {steps}"], cpu, env=environment).returncode


# The system.


def make() -> None:
    """Make the system, unless it is there already; one process at a time.

    Raises:
      MissingError: it cannot be made here.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _make()


def _make() -> None:
    needed, stamp = _requirements(), FOLDER / "made"
    digest = hashlib.sha256(repr((_PACKAGES, needed)).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    for tool in ("apt-get", "dpkg-deb", "unshare"):
        if shutil.which(tool) is None:
            raise MissingError(f"there is no {tool}")
    if subprocess.run([*_NAMESPACE, "sh", "-c", _PROGRAMS], capture_output=True).returncode:
        raise MissingError("the kernel lets no namespace of users have programs of its own (Linux 6.7)")
    for folder in (SYSTEM, FOLDER / "tools"):
        shutil.rmtree(folder, ignore_errors=True)
    try:
        _add_packages()
        _add_wheels(needed)
    except subprocess.CalledProcessError as error:
        raise MissingError(f"packages could not be fetched: {error.stderr[-2000:]}") from None
    stamp.write_text(digest)


def _quiet(*command: Any) -> str:
    return subprocess.run([*map(str, command)], check=True, capture_output=True, text=True, cwd=FOLDER).stdout


def _add_packages() -> None:
    """Unpack Debian's packages; none of their scripts run."""
    apt = FOLDER / "apt"
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    here = _quiet("dpkg", "--print-architecture").strip()
    settings = {
        **{"APT::Architecture": "arm64", "APT::Install-Recommends": "false", "Dir::State": apt / "state"},
        **{"Dir::State::status": "/dev/null", "Dir::Cache": apt / "cache"},
    }
    options = [f"-o{name}={value}" for name, value in settings.items()]
    options += ["-oAPT::Architectures::=arm64", f"-oAPT::Architectures::={here}"]
    _quiet("apt-get", *options, "update")
    _quiet("apt-get", *options, "install", "--yes", "--download-only", *_PACKAGES, f"qemu-user-static:{here}")
    for name in ("bin", "lib", "sbin"):
        (SYSTEM / "usr" / name).mkdir(parents=True)
        (SYSTEM / name).symlink_to(f"usr/{name}")
    for name in ("dev", "proc", "root", "stagec", "sys", "tmp"):
        (SYSTEM / name).mkdir()
    (FOLDER / "tools").mkdir()
    for package in (apt / "cache/archives").glob("*.deb"):
        folder = FOLDER / "tools" if package.name.startswith("qemu") else SYSTEM
        unpack = 'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink --no-same-owner -C "$2"'
        _quiet("sh", "-c", unpack, "sh", package, folder)


def _requirements() -> list[str]:
    """What stagec and its tests need, as its project file has it."""
    import tomllib  # of Python 3.11

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    found = [*project["dependencies"], *extras["test"], *extras["prove"]]
    return [text for text in found if not text.startswith(_LEFT_OUT)]


def _add_wheels(needed: Sequence[str]) -> None:
    python = max(path.name for path in (SYSTEM / "usr/bin").glob("python3.*[0-9]"))
    platforms = ["manylinux2014_aarch64", *(f"manylinux_2_{n}_aarch64" for n in range(17, 37))]
    chosen = ["--only-binary=:all:", f"--python-version={python[6:]}", *(f"--platform={name}" for name in platforms)]
    pip = [sys.executable, "-m", "pip", "--quiet", "--no-cache-dir"]
    _quiet(*pip, "download", *chosen, f"--dest={_WHEELS}", *needed)
    packages = SYSTEM / "usr/local/lib" / python / "dist-packages"
    _quiet(*pip, "install", *chosen, "--no-index", "--no-deps", f"--target={packages}", *_WHEELS.glob("*.whl"))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cpu", default="neoverse-n1", choices=MODELS)
    parser.add_argument("--install", action="store_true", help="install stagec into a fresh environment, run its demo")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    try:
        if args.install:
            return install(args.cpu)
        return run(args.command or ["python3"], args.cpu).returncode
    except MissingError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
