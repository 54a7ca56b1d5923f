-- The bank, schema version 1.  One table a kind of row; memory/memory.h lists the same columns, and
-- opening a bank compares the two.
--
-- Rows are only ever added: a row's id is the hash of (bank, campaign, task, branch, number, kind,
-- ordinal), so merged banks and resumed runs agree, and what happened later is another row.  Foreign
-- documents are canonical JSON.  Columns ending in _s are clock values: recorded inputs that an
-- export may leave out.  origin is '' for what was made here, else the bank it came from.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- One run of the state machine; the secret seeds all data and is revealed afterwards
CREATE TABLE campaign (
    "id"           TEXT PRIMARY KEY CHECK (length(id) = 64),
    "name"         TEXT NOT NULL,
    "options"      TEXT NOT NULL,
    "secret"       TEXT NOT NULL,
    "machine"      TEXT NOT NULL,
    "program"      TEXT NOT NULL,
    "budget_usd"   REAL NOT NULL,
    "started_s"    INTEGER NOT NULL,
    "origin"       TEXT NOT NULL
) STRICT;

-- (spec, track, shape, machine) of a campaign
CREATE TABLE task (
    "id"           TEXT PRIMARY KEY CHECK (length(id) = 64),
    "campaign"     TEXT NOT NULL REFERENCES campaign (id),
    "op_name"      TEXT NOT NULL,
    "op"           TEXT NOT NULL,
    "track"        TEXT NOT NULL,
    "machine"      TEXT NOT NULL,
    "spec"         TEXT NOT NULL,
    "document"     TEXT NOT NULL,
    "flags"        TEXT NOT NULL,
    "origin"       TEXT NOT NULL
) STRICT;
CREATE INDEX task_campaign ON task ("campaign");

-- HTAM's global node: authored fields; what it is worth is derived from evidence
CREATE TABLE direction (
    "id"           TEXT PRIMARY KEY CHECK (length(id) = 64),
    "name"         TEXT NOT NULL,
    "goal"         TEXT NOT NULL,
    "trigger"      TEXT NOT NULL,
    "risk"         TEXT NOT NULL,
    "edit_pattern" TEXT NOT NULL,
    "checks"       TEXT NOT NULL,
    "prior"        REAL NOT NULL,
    "origin"       TEXT NOT NULL
) STRICT;

-- HTAM's local node: a primitive with parameters, and the predicate over observed that earns it credit
CREATE TABLE strategy (
    "id"           TEXT PRIMARY KEY CHECK (length(id) = 64),
    "direction"    TEXT NOT NULL REFERENCES direction (id),
    "name"         TEXT NOT NULL,
    "primitive"    TEXT NOT NULL,
    "parameters"   TEXT NOT NULL,
    "predicate"    TEXT NOT NULL,
    "goal"         TEXT NOT NULL,
    "trigger"      TEXT NOT NULL,
    "risk"         TEXT NOT NULL,
    "edit_pattern" TEXT NOT NULL,
    "checks"       TEXT NOT NULL,
    "prior"        REAL NOT NULL,
    "origin"       TEXT NOT NULL
) STRICT;
CREATE INDEX strategy_direction ON strategy ("direction");

-- HTAM's edge between directions
CREATE TABLE transition (
    "id"           TEXT PRIMARY KEY CHECK (length(id) = 64),
    "source"       TEXT NOT NULL REFERENCES direction (id),
    "target"       TEXT NOT NULL REFERENCES direction (id),
    "goal"         TEXT NOT NULL,
    "trigger"      TEXT NOT NULL,
    "risk"         TEXT NOT NULL,
    "edit_pattern" TEXT NOT NULL,
    "checks"       TEXT NOT NULL,
    "prior"        REAL NOT NULL,
    "origin"       TEXT NOT NULL
) STRICT;
CREATE INDEX transition_source ON transition ("source");
CREATE INDEX transition_target ON transition ("target");

-- One walk from plan to verdict, stored before anything runs
CREATE TABLE attempt (
    "id"           TEXT PRIMARY KEY CHECK (length(id) = 64),
    "task"         TEXT NOT NULL REFERENCES task (id),
    "branch"       INTEGER NOT NULL,
    "number"       INTEGER NOT NULL,
    "parent"       TEXT REFERENCES attempt (id),
    "plan"         TEXT NOT NULL,
    "plan_hash"    TEXT NOT NULL,
    "direction"    TEXT REFERENCES direction (id),
    "strategy"     TEXT REFERENCES strategy (id),
    "with_memory"  INTEGER NOT NULL,
    "writer"       TEXT NOT NULL,
    "started_s"    INTEGER NOT NULL,
    "origin"       TEXT NOT NULL
) STRICT;
CREATE INDEX attempt_task ON attempt ("task");
CREATE INDEX attempt_parent ON attempt ("parent");
CREATE INDEX attempt_direction ON attempt ("direction");
CREATE INDEX attempt_strategy ON attempt ("strategy");

-- What an attempt wrote: source or binary, and its manifest
CREATE TABLE kernel (
    "id"           TEXT PRIMARY KEY CHECK (length(id) = 64),
    "attempt"      TEXT NOT NULL REFERENCES attempt (id),
    "ordinal"      INTEGER NOT NULL,
    "hash"         TEXT NOT NULL,
    "form"         TEXT NOT NULL,
    "source"       BLOB NOT NULL,
    "manifest"     TEXT NOT NULL,
    "guard"        TEXT NOT NULL,
    "origin"       TEXT NOT NULL
) STRICT;
CREATE INDEX kernel_attempt ON kernel ("attempt");

-- What verification said
CREATE TABLE verdict (
    "id"           TEXT PRIMARY KEY CHECK (length(id) = 64),
    "attempt"      TEXT NOT NULL REFERENCES attempt (id),
    "kernel"       TEXT REFERENCES kernel (id),
    "ordinal"      INTEGER NOT NULL,
    "validity"     TEXT NOT NULL,
    "timing"       TEXT NOT NULL,
    "gate"         TEXT NOT NULL,
    "executor"     TEXT NOT NULL,
    "checks"       INTEGER NOT NULL,
    "reason"       TEXT NOT NULL,
    "observed"     TEXT NOT NULL,
    "document"     TEXT NOT NULL,
    "ended_s"      INTEGER NOT NULL,
    "origin"       TEXT NOT NULL
) STRICT;
CREATE INDEX verdict_attempt ON verdict ("attempt");
CREATE INDEX verdict_kernel ON verdict ("kernel");

-- A paired timing of a kernel against an opponent
CREATE TABLE measurement (
    "id"           TEXT PRIMARY KEY CHECK (length(id) = 64),
    "verdict"      TEXT NOT NULL REFERENCES verdict (id),
    "kernel"       TEXT NOT NULL REFERENCES kernel (id),
    "ordinal"      INTEGER NOT NULL,
    "opponent"     TEXT NOT NULL,
    "protocol"     TEXT NOT NULL,
    "device"       TEXT NOT NULL,
    "track"        TEXT NOT NULL,
    "guard"        TEXT NOT NULL,
    "cold"         INTEGER NOT NULL,
    "median_ns"    REAL NOT NULL,
    "ratio"        REAL NOT NULL,
    "ratio_low"    REAL NOT NULL,
    "ratio_high"   REAL NOT NULL,
    "samples"      TEXT NOT NULL,
    "measured_s"   INTEGER NOT NULL,
    "origin"       TEXT NOT NULL
) STRICT;
CREATE INDEX measurement_verdict ON measurement ("verdict");
CREATE INDEX measurement_kernel ON measurement ("kernel");

-- What a verdict says about a strategy; no predicate held, no credit
CREATE TABLE evidence (
    "id"           TEXT PRIMARY KEY CHECK (length(id) = 64),
    "verdict"      TEXT NOT NULL REFERENCES verdict (id),
    "strategy"     TEXT REFERENCES strategy (id),
    "ordinal"      INTEGER NOT NULL,
    "structure"    TEXT NOT NULL,
    "shape_class"  TEXT NOT NULL,
    "device"       TEXT NOT NULL,
    "track"        TEXT NOT NULL,
    "guard"        TEXT NOT NULL,
    "predicate_held" INTEGER NOT NULL,
    "log_speedup"  REAL NOT NULL,
    "origin"       TEXT NOT NULL
) STRICT;
CREATE INDEX evidence_verdict ON evidence ("verdict");
CREATE INDEX evidence_strategy ON evidence ("strategy");

-- What the campaign chose, and among what
CREATE TABLE decision (
    "id"           TEXT PRIMARY KEY CHECK (length(id) = 64),
    "campaign"     TEXT NOT NULL REFERENCES campaign (id),
    "task"         TEXT REFERENCES task (id),
    "branch"       INTEGER NOT NULL,
    "number"       INTEGER NOT NULL,
    "ordinal"      INTEGER NOT NULL,
    "kind"         TEXT NOT NULL,
    "choice"       TEXT NOT NULL,
    "reasons"      TEXT NOT NULL,
    "decided_s"    INTEGER NOT NULL,
    "origin"       TEXT NOT NULL
) STRICT;
CREATE INDEX decision_campaign ON decision ("campaign");
CREATE INDEX decision_task ON decision ("task");

-- Money set aside before a request, then settled or released by a later row
CREATE TABLE reservation (
    "id"           TEXT PRIMARY KEY CHECK (length(id) = 64),
    "campaign"     TEXT NOT NULL REFERENCES campaign (id),
    "attempt"      TEXT REFERENCES attempt (id),
    "ordinal"      INTEGER NOT NULL,
    "kind"         TEXT NOT NULL,
    "reserves"     TEXT REFERENCES reservation (id),
    "purpose"      TEXT NOT NULL,
    "usd"          REAL NOT NULL,
    "tokens"       INTEGER NOT NULL,
    "made_s"       INTEGER NOT NULL,
    "origin"       TEXT NOT NULL
) STRICT;
CREATE INDEX reservation_campaign ON reservation ("campaign");
CREATE INDEX reservation_attempt ON reservation ("attempt");
CREATE INDEX reservation_reserves ON reservation ("reserves");

-- What was measured of a machine
CREATE TABLE calibration (
    "id"           TEXT PRIMARY KEY CHECK (length(id) = 64),
    "machine"      TEXT NOT NULL,
    "kind"         TEXT NOT NULL,
    "ordinal"      INTEGER NOT NULL,
    "protocol"     TEXT NOT NULL,
    "document"     TEXT NOT NULL,
    "measured_s"   INTEGER NOT NULL,
    "origin"       TEXT NOT NULL
) STRICT;

-- Where a request and its answer lie on a tape
CREATE TABLE exchange (
    "id"           TEXT PRIMARY KEY CHECK (length(id) = 64),
    "campaign"     TEXT NOT NULL REFERENCES campaign (id),
    "attempt"      TEXT REFERENCES attempt (id),
    "ordinal"      INTEGER NOT NULL,
    "purpose"      TEXT NOT NULL,
    "request"      TEXT NOT NULL,
    "tape"         TEXT NOT NULL,
    "tape_line"    INTEGER NOT NULL,
    "status"       TEXT NOT NULL,
    "model"        TEXT NOT NULL,
    "tokens_in"    INTEGER NOT NULL,
    "tokens_out"   INTEGER NOT NULL,
    "usd"          REAL NOT NULL,
    "sent_s"       INTEGER NOT NULL,
    "origin"       TEXT NOT NULL
) STRICT;
CREATE INDEX exchange_campaign ON exchange ("campaign");
CREATE INDEX exchange_attempt ON exchange ("attempt");
