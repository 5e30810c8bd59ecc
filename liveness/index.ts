/** `turnwatch/liveness`: the Prism route, health, metrics and the live page of a watch, as a handler or a server. */

export type { Phase, WaitReason } from '../instrumentation/events.ts'
export type { StaleReason } from '../instrumentation/turn-counters.ts'
export { type LivenessOptions, type LivenessWatch, livenessApp } from './app.ts'
export type { PrismLiveness, ThreadState } from './prism.ts'
export { type LivenessServer, type ServeOptions, serveLiveness } from './server.ts'
