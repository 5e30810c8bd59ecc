import type { OrchestrationThreadActivity } from "@t3tools/contracts";

export function deriveWorkLogEntries(
  activities: ReadonlyArray<OrchestrationThreadActivity>,
): ReadonlyArray<{ readonly id: string; readonly label: string }> {
  const entries: Array<{ readonly id: string; readonly label: string }> = [];
  for (const activity of activities) {
    if (activity.kind === "task.started") continue;
    if (activity.kind === "context-window.updated") continue;
    entries.push({ id: activity.id, label: activity.summary });
  }
  return entries;
}
