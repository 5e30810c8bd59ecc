import { DatabaseSync, type SQLInputValue } from "node:sqlite";

import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import * as Stream from "effect/Stream";
import * as Reactivity from "effect/reactivity/Reactivity";
import * as SqlClient from "effect/sql/SqlClient";
import * as Statement from "effect/sql/Statement";

import { ServerConfig } from "../config.ts";

export const layerConfig = Layer.effect(
  SqlClient.SqlClient,
  Effect.gen(function* () {
    const { stateDir } = yield* ServerConfig;
    const db = yield* Effect.acquireRelease(
      Effect.sync(() => new DatabaseSync(`${stateDir}/state.sqlite`)),
      (opened) => Effect.sync(() => opened.close()),
    );
    db.exec(`CREATE TABLE IF NOT EXISTS fork_prism_stream_stats (
      run_id TEXT, provider_turn_id TEXT, thread_id TEXT, provider TEXT, model TEXT, outcome TEXT, started_at REAL,
      ended_at REAL, time_to_first_token_ms REAL, max_gap_ms REAL, event_count INTEGER,
      PRIMARY KEY (run_id, provider_turn_id))`);
    const rows = (sql: string, params: ReadonlyArray<unknown>) =>
      Effect.sync(() => db.prepare(sql).all(...(params as SQLInputValue[])));
    const values = (sql: string, params: ReadonlyArray<unknown>) =>
      Effect.map(rows(sql, params), (all) => all.map((row) => Object.values(row)));
    return yield* SqlClient.make({
      driver: "node:sqlite",
      acquirer: Effect.succeed({
        execute: rows,
        executeUnprepared: rows,
        executeRaw: rows,
        executeValues: values,
        executeValuesUnprepared: values,
        executeStream: (sql, params) => Stream.fromIterableEffect(rows(sql, params)),
      }),
      compiler: Statement.makeCompilerSqlite(),
      spanAttributes: [],
    });
  }),
).pipe(Layer.provide(Reactivity.layer));
