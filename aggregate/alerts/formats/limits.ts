/**
 * Longest texts of an alert in characters, beside those in settings. Longer texts are truncated with an ellipsis. The
 * stored body is complete.
 */
export const TEXT_LIMITS = {
  service: 100,
  tool: 100,
  /** All hosts together, as GitLab counts them: joined by a comma and a space. */
  hosts: 255,
  environment: 255,
  query: 5000,
  runbook: 1000,
  /** One label with its name, and all labels together. */
  label: 200,
  labels: 2000,
} as const;
