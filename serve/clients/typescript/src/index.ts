export { ApiError, type ApiIssue } from './api-error.ts';
export { type ChainMetricsClient, type ClientOptions, createClient } from './client.ts';
export type { RetryPolicy } from './retry.ts';
export { type MetricPath, type MetricQuery, type MetricRow, rows } from './rows.ts';
export type { components, paths } from './schema.ts';
