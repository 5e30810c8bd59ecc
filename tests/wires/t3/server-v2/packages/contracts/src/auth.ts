export type AuthEnvironmentScope = "orchestration:read" | "orchestration:operate";
