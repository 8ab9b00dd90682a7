-- Format 3: arrays that are not ours. Where such an array lies, how, and what the file was
-- like when it was attached (place.c); then file is NULL and the blob empty.
ALTER TABLE names ADD COLUMN place TEXT;
PRAGMA user_version = 3;
