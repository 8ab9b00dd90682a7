-- Format 2: names may be of the kind hidden, which begin with a dot and are the server's
-- own: jobs, and the kept answers of requests that may be repeated. A program that does not
-- know them must not open the index, since it would take them for damage.
PRAGMA user_version = 2;
