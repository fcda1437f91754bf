/**
 * Most characters of the texts that are read from a payload beside those that are settings; longer ones are cut with an
 * ellipsis. The stored body has all of them.
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
