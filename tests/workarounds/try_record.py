"""What becomes of one record's reproduction in this environment: `python -m tests.workarounds.try_record ID`."""

import sys

from tests.workarounds import reproduce
from tests.workarounds.records import ALL


def main(record_id):
    (record,) = [record for record in ALL if record.id == record_id]
    found = reproduce.symptom(record)
    word = "present" if reproduce.shows(record, found) else "healed" if found == reproduce.RIGHT else "different"
    print(word, "" if word != "different" else " ".join(found.split())[:160])


if __name__ == "__main__":
    main(sys.argv[1])
