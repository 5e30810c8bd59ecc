import * as Layer from "effect/Layer";

export const layer = Layer.empty;
