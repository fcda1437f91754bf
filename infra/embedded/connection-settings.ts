/** By the engine's own setting it is 1 GiB: under the memory limit of a small machine one thread, whatever its processors. */
const FREE_BYTES_PER_THREAD = 256 * 2 ** 20;

/**
 * What every connection is told once. A statement has no more threads than find memory for their work.
 *
 * Without the next two a statement over many small parts spends a fifth of its processor time on handing each read to
 * another thread, which then waits for it, and on statistics of columns by which no statement is planned. To compile an
 * expression costs as much as dozens of runs of it over a day of blocks: it is worth that only for what runs again and
 * again.
 *
 * The others are steps of planning that cost more than they save: a round of few new blocks spends three quarters of
 * its time on planning some 36 statements. The first three look for what no statement here has, keys that follow from
 * other keys and averages beside sums of the same column: a fifteenth of that time. The last five remove columns that a
 * step of a plan does not need, join steps, and rewrite conditions: an eighth. Metrics of 160 MB of blocks take no
 * longer to compute without them.
 */
export const CONNECTION_SETTINGS = [
  `max_threads_min_free_memory_per_thread = ${FREE_BYTES_PER_THREAD}`,
  "local_filesystem_read_method = 'pread'",
  'use_statistics = 0',
  'min_count_to_compile_expression = 50',
  'min_count_to_compile_aggregate_expression = 50',
  'min_count_to_compile_sort_description = 50',
  'optimize_group_by_function_keys = 0',
  'optimize_aggregators_of_group_by_keys = 0',
  'optimize_syntax_fuse_functions = 0',
  'query_plan_remove_unused_columns = 0',
  'query_plan_merge_expressions = 0',
  'query_plan_merge_filters = 0',
  'optimize_and_compare_chain = 0',
  'use_join_disjunctions_push_down = 0',
];
