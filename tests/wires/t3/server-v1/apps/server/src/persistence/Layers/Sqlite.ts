import { DatabaseSync, type SQLInputValue } from "node:sqlite";

import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import * as Stream from "effect/Stream";
import * as Reactivity from "effect/unstable/reactivity/Reactivity";
import * as SqlClient from "effect/unstable/sql/SqlClient";
import * as Statement from "effect/unstable/sql/Statement";

import { ServerConfig } from "../../config.ts";

export const layerConfig = Layer.effect(
  SqlClient.SqlClient,
  Effect.gen(function* () {
    const { stateDir } = yield* ServerConfig;
    const db = yield* Effect.acquireRelease(
      Effect.sync(() => new DatabaseSync(`${stateDir}/state.sqlite`)),
      (opened) => Effect.sync(() => opened.close()),
    );
    db.exec(`CREATE TABLE IF NOT EXISTS projection_thread_activities (
      activity_id TEXT PRIMARY KEY, thread_id TEXT, turn_id TEXT, tone TEXT, kind TEXT, summary TEXT,
      payload_json TEXT, created_at TEXT)`);
    const rows = (sql: string, params: ReadonlyArray<unknown>) =>
      Effect.sync(() => db.prepare(sql).all(...(params as SQLInputValue[])));
    const values = (sql: string, params: ReadonlyArray<unknown>) =>
      Effect.map(rows(sql, params), (all) => all.map((row) => Object.values(row)));
    return yield* SqlClient.make({
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
