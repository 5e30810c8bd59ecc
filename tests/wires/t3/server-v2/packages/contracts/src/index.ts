export * from "./auth.ts";
export * from "./baseSchemas.ts";
export * from "./orchestrationV2.ts";
