-- The index of a data directory, format 1.

-- What the names stand for now. Small rows, all read at start.
CREATE TABLE names(
    name       TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,    -- variable, graph
    version    INTEGER NOT NULL, -- 1 for a new name, one more for each new value
    number     INTEGER NOT NULL, -- of the commit that wrote the row
    created    INTEGER NOT NULL, -- microseconds since 1970
    modified   INTEGER NOT NULL,
    dtype      TEXT NOT NULL,    -- of graphs: uint8, the bytes of the text
    shape      TEXT NOT NULL,    -- JSON: [2, 3]
    file       BLOB,             -- 16 bytes, the name of the array file; NULL: inline
    content    INTEGER NOT NULL, -- the blob of the value
    attributes INTEGER,          -- the blob of the attributes, if any
    attributes_bytes INTEGER     -- their length
) WITHOUT ROWID;

-- Values: the elements of an inline array, the text of a graph, the attributes as
-- JSON; of an array file, the CRC32C of each MiB of its elements, 4 bytes each,
-- little-endian. Written once and never changed. Read when they are needed.
CREATE TABLE blobs(
    id    INTEGER PRIMARY KEY,
    crc   INTEGER NOT NULL, -- CRC32C of bytes
    bytes BLOB NOT NULL
);

-- Blobs that no name stands for any more, but a reader may: removed when the last
-- one has gone, or at the next start.
CREATE TABLE garbage(
    id INTEGER PRIMARY KEY
);

-- commit: the number of the last commit.
-- state: 0 closed in order, 1 open, 2 open and some commits were not synced.
-- directory: a random number that tells this data directory from others.
CREATE TABLE meta(
    key   TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO meta VALUES ('commit', 0), ('state', 0);
PRAGMA user_version = 1;
