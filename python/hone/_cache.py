"""Files that this package keeps: $XDG_CACHE_HOME/hone or ~/.cache/hone, in python/."""
import hashlib
import os
import tempfile


def cache_folder(kind: str) -> str:
    """A folder for one kind of files; made where it is missing."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not base.startswith("/"):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(base, "hone", "python", kind)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder


def digest(*texts: str) -> str:
    """32 hexadecimal digits that tell texts apart."""
    whole = hashlib.sha256()
    for text in texts:
        data = text.encode()
        whole.update(f"{len(data)}:".encode() + data)
    return whole.hexdigest()[:32]


def write_whole(path: str, text: str) -> None:
    """Writes a file so that others see all of it or nothing."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)


def only_ours(path: str) -> bool:
    """Whether a file is there that nobody but this user could have written."""
    for place in (path, os.path.dirname(path)):
        found = os.stat(place)
        if found.st_uid != os.getuid() or found.st_mode & 0o022:
            return False
    return True
