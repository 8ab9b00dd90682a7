-- Format 4: chunked arrays. The file of such a row has no header: chunks of a MiB lie in its
-- slots, the blob has behind the checksums the slot of each, 4 bytes, little-endian, and several
-- rows (older versions) may have one file.
ALTER TABLE names ADD COLUMN chunked INTEGER NOT NULL DEFAULT 0;

-- CRC32C of the other columns (row_checksum in index.c): of rows that format 4 wrote.
ALTER TABLE names ADD COLUMN crc INTEGER;
PRAGMA user_version = 4;
