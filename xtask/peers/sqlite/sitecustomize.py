"""Python reads this at its start when the folder is on PYTHONPATH.

A Python that was built without loadable extensions cannot open a vector index in SQLite. It gets
the SQLite of the package `pysqlite3-binary`, which can.
"""

import sqlite3
import sys

if not hasattr(sqlite3.Connection, "enable_load_extension"):
    import pysqlite3
    import pysqlite3.dbapi2

    sys.modules["sqlite3"] = pysqlite3
    sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2
