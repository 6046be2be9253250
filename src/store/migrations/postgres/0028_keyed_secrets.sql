-- Hashes of client secrets may be keyed from here on. An earlier program could not check them, and must not start.
UPDATE applications SET secret_hash = secret_hash WHERE 1 = 0;
