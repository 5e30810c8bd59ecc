export * from "./auth.ts";
export * from "./baseSchemas.ts";
export * from "./orchestration.ts";
export * from "./providerRuntime.ts";
