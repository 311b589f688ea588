//! Databases: what their statements lose, and what their clients run.

use super::Handler;
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, parse};
use crate::rules::{self, remote};
use crate::value::{Field, Out, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "psql" | "mysql" | "mariadb" | "mongosh" | "mongo" | "sqlite3" | "sqlite"
        | "clickhouse-client" | "clickhouse" | "cqlsh" | "influx" | "sqlcmd" | "sqlplus"
        | "cockroach" | "duckdb" | "usql" | "pgcli" | "mycli" | "litecli" | "snowsql"
        | "cypher-shell" | "presto" | "trino" | "hive" | "beeline" | "isql" | "tsql"
        | "litestream" | "prisma" | "knex" | "sequelize" | "typeorm" | "drizzle-kit"
        | "alembic" | "flyway" | "liquibase" | "sqitch" | "dbmate" | "goose" | "atlas-db"
        | "rake" | "rails" => client,
        "redis-cli" | "valkey-cli" | "keydb-cli" | "memcdump" | "etcdctl" => store,
        "dropdb" | "dropuser" | "mysqladmin" | "createdb" | "createuser" | "pg_restore"
        | "pg_dump" | "pg_dumpall" | "mysqldump" | "mongodump" | "mongorestore" | "initdb"
        | "pg_ctl" | "pg_resetwal" | "vacuumdb" => admin,
        _ => return None,
    })
}

/// Whether a statement loses data.
pub(super) fn destroys(text: &str) -> bool {
    let upper = text
        .to_uppercase()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let statement = |verb: &str| {
        upper.match_indices(verb).any(|(at, _)| {
            let before = upper[..at].chars().next_back();
            before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
        })
    };
    let unbounded = |verb: &str| {
        statement(verb)
            && !upper
                .split(';')
                .filter(|part| part.contains(verb))
                .all(|part| {
                    part.contains(" WHERE ")
                        && !part.contains("WHERE 1=1")
                        && !part.contains("WHERE TRUE")
                        && !part.contains("WHERE 1 = 1")
                })
    };
    [
        "DROP TABLE",
        "DROP DATABASE",
        "DROP SCHEMA",
        "DROP INDEX",
        "DROP VIEW",
        "DROP USER",
        "DROP ROLE",
        "DROP COLUMN",
        "DROP KEYSPACE",
        "DROP OWNED",
        "DROP COLLECTION",
        "DROP FUNCTION",
        "DROP TRIGGER",
        "DROP SEQUENCE",
        "DROP TYPE",
        "DROP EXTENSION",
        "DROP MATERIALIZED",
        "DROP MEASUREMENT",
        "DROP CONSTRAINT",
        "DROP TABLESPACE",
        "TRUNCATE",
        "FLUSHALL",
        "FLUSHDB",
        "DETACH DELETE",
        "DROP CONTINUOUS",
        "DROP BUCKET",
        "DROP PARTITION",
        "RESET MASTER",
        "PURGE BINARY",
        "SHUTDOWN",
        "DROP GRAPH",
        "DROP ALL",
    ]
    .iter()
    .any(|verb| statement(verb))
        || unbounded("DELETE FROM")
        || (statement("UPDATE ") && upper.contains(" SET ") && unbounded("UPDATE "))
        || [
            "dropDatabase(",
            ".drop(",
            "deleteMany(",
            ".remove(",
            "dropUser(",
            "dropCollection(",
            "dropIndexes(",
            "deleteOne(",
            "shutdownServer(",
        ]
        .iter()
        .any(|verb| compact.contains(verb))
        || statement("DELETE") && upper.contains(" WHERE ")
}

/// Commands of a client that run programs or touch files.
fn escapes(machine: &mut Machine<'_>, text: &str, state: &State) {
    for line in text.lines().flat_map(|line| line.split(';')).take(64) {
        let line = line.trim();
        for mark in [
            "\\!",
            "\\ !",
            "system ",
            ".shell ",
            ".system ",
            "\\system ",
            "!",
        ] {
            if let Some(code) = line.strip_prefix(mark) {
                machine.inner(code.trim(), &mut state.clone());
            }
        }
        let upper = line.to_uppercase();
        for mark in [" PROGRAM ", "\\O |", "\\G |", "\\COPY"] {
            if let Some(at) = upper.find(mark) {
                let rest = line.get(at + mark.len()..).unwrap_or_default();
                let code = rest.trim().trim_matches(['\'', '"']);
                machine.suspect(code, state);
                machine.act(&rules::opaque::OPTION);
            }
        }
        for (mark, role) in [
            ("OUTFILE ", Role::Write),
            ("DUMPFILE ", Role::Write),
            (".OUTPUT ", Role::Write),
            (".ONCE ", Role::Write),
            (".BACKUP ", Role::Write),
            (".READ ", Role::Read),
            (".OPEN ", Role::Write),
            ("LOAD_FILE(", Role::Read),
            ("READFILE(", Role::Read),
            ("INFILE ", Role::Read),
            ("WRITEFILE(", Role::Write),
            ("VACUUM INTO ", Role::Write),
            ("COPY_TO ", Role::Write),
            ("\\O ", Role::Write),
            ("\\I ", Role::Read),
        ] {
            if let Some(at) = upper.find(mark) {
                let rest = line.get(at + mark.len()..).unwrap_or_default();
                let name: String = rest
                    .trim_start_matches(['\'', '"', ' '])
                    .chars()
                    .take_while(|c| !matches!(c, '\'' | '"' | ' ' | ')' | ','))
                    .collect();
                machine.path(role, &Field::lit(&name), state);
            }
        }
        if upper.contains("COPY ") && upper.contains(" TO '") {
            let name: String = line.split('\'').nth(1).unwrap_or_default().to_owned();
            machine.path(Role::Write, &Field::lit(&name), state);
        }
        if upper.contains("LOAD_EXTENSION") || upper.contains(".LOAD ") || upper.contains("EDIT(") {
            machine.act(&rules::opaque::OPTION);
        }
    }
}

/// What the tools of frameworks call emptying a database.
const RESETS: &[&str] = &[
    "migrate reset",
    "db:drop",
    "db:reset",
    "db push --force-reset",
    "--force-reset",
    "migrate:reset",
    "db:migrate:undo:all",
    "downgrade base",
    "schema:drop",
    "migrate:rollback --all",
    "db:purge",
    "db:schema:load",
    "migrate:fresh",
    "migrate:refresh",
    "db:wipe",
    "dropall",
    "drop-all",
    "manage.py flush",
    "manage.py reset_db",
    "manage.py sqlflush",
    "prisma db push --force",
];

/// Whether the words of a framework's tool empty a database.
pub(super) fn resets(line: &str) -> bool {
    RESETS.iter().any(|form| line.contains(form))
}

fn client(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let mut texts: Vec<String> = call.args.iter().map(Field::shown).collect();
    if let Some(Out::Known(text)) = &state.input {
        texts.push(text.clone());
    }
    let line = texts.join(" ");
    let destroying = texts
        .iter()
        .any(|text| destroys(text) || destroys(text.split_once('=').map_or("", |(_, rest)| rest)))
        || resets(&line)
        || matches!(call.name, "flyway") && line.contains("clean")
        || matches!(call.name, "dbmate") && line.contains("drop");
    for text in &texts {
        escapes(machine, text, state);
    }
    if call.name == "mysql" || call.name == "psql" {
        let parsed = parse(
            call.args,
            "e c f o h u p P d U D S execute command file output host port user database dbname set v tee pager L log-file",
            Order::Any,
        );
        for file in parsed.values(&["o", "output", "tee", "L", "log-file"]) {
            let file = file.clone();
            match file.prefix().strip_prefix('|') {
                Some(code) => machine.inner(code, &mut state.clone()),
                None => {
                    machine.path(Role::Write, &file, state);
                }
            }
        }
        for pager in parsed.values(&["pager"]) {
            let pager = pager.clone();
            machine.code_word(&pager, &mut state.clone());
        }
    }
    if matches!(call.name, "sqlite3" | "sqlite" | "duckdb") {
        return local(machine, call, destroying, state);
    }
    machine.act(if destroying {
        &remote::DATABASE_DESTROY
    } else {
        &remote::DATABASE
    });
    Out::Unknown(Taint::REMOTE)
}

/// A database in a file.
fn local(machine: &mut Machine<'_>, call: &Call<'_>, destroying: bool, state: &mut State) -> Out {
    let parsed = parse(
        call.args,
        "cmd init separator newline nullvalue",
        Order::Any,
    );
    // sqlite's long options have one dash.
    let operands: Vec<&Field> = call
        .args
        .iter()
        .filter(|arg| !arg.prefix().starts_with('-'))
        .collect();
    if let Some(file) = operands.first() {
        machine.path(Role::Write, file, state);
    }
    if destroying {
        machine.act(&remote::DATABASE_DESTROY);
        return Out::Unknown(Taint::NONE);
    }
    let looks = operands.len() > 1
        && operands.iter().skip(1).all(|text| {
            text.known().is_some_and(|text| {
                let upper = text.trim().to_uppercase();
                !upper.trim_end_matches(';').contains(';')
                    && (upper.starts_with("SELECT")
                        || upper.starts_with(".TABLES")
                        || upper.starts_with(".SCHEMA")
                        || upper.starts_with("EXPLAIN")
                        || upper.starts_with("PRAGMA TABLE_INFO"))
            })
        });
    if !looks || parsed.has(&["init"]) {
        machine.act(&remote::DATABASE);
    }
    Out::Unknown(Taint::NONE)
}

fn store(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let mut line = call
        .args
        .iter()
        .map(Field::shown)
        .collect::<Vec<_>>()
        .join(" ");
    if let Some(Out::Known(text)) = &state.input {
        line.push(' ');
        line.push_str(text);
    }
    let upper = line.to_uppercase();
    let destroys = upper.split(|c: char| !c.is_alphanumeric()).any(|word| {
        matches!(
            word,
            "FLUSHALL"
                | "FLUSHDB"
                | "SHUTDOWN"
                | "DEL"
                | "UNLINK"
                | "DEBUG"
                | "RENAME"
                | "EVAL"
                | "SLAVEOF"
                | "REPLICAOF"
                | "SWAPDB"
                | "LTRIM"
        )
    }) || upper.contains("CONFIG SET")
        || upper.contains("CONFIG REWRITE")
        || upper.contains("CLUSTER RESET");
    machine.act(if destroys {
        &remote::DATABASE_DESTROY
    } else {
        &remote::DATABASE
    });
    Out::Unknown(Taint::REMOTE)
}

fn admin(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let line = call
        .args
        .iter()
        .map(Field::shown)
        .collect::<Vec<_>>()
        .join(" ");
    let destroys = match call.name {
        "dropdb" | "dropuser" | "pg_resetwal" => true,
        "mysqladmin" => {
            line.contains("drop") || line.contains("shutdown") || line.contains("password")
        }
        "pg_restore" => line.contains("--clean") || line.split(' ').any(|word| word == "-c"),
        "mongorestore" => line.contains("--drop"),
        _ => false,
    };
    machine.act(if destroys {
        &remote::DATABASE_DESTROY
    } else {
        &remote::DATABASE
    });
    let parsed = parse(
        call.args,
        "f file r result-file o out D pgdata d h U p n t",
        Order::Any,
    );
    for file in parsed.values(&["f", "file", "r", "result-file", "o", "out", "D", "pgdata"]) {
        let file = file.clone();
        machine.path(Role::Write, &file, state);
    }
    Out::Unknown(Taint::REMOTE)
}
