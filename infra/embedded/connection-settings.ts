/** With the default of 1 GiB a machine with little memory would use only one thread. */
const FREE_BYTES_PER_THREAD = 256 * 2 ** 20;

/**
 * Settings of every connection. The first one limits the threads of a statement by the free memory.
 *
 * `pread` and `use_statistics`: over many small parts a statement spends a fifth of its processor time on handing reads to
 * other threads and on statistics that no plan uses. `min_count_to_compile_…`: compiling an expression costs as much as
 * dozens of runs over a day of blocks.
 *
 * The rest disables plan optimizations that cost more than they save. A round of few new blocks spends three quarters of
 * its time on planning about 36 statements. The first three find nothing in our statements, and take a fifteenth of the
 * planning time; the last five take an eighth. Metrics of 160 MB of blocks compute as fast without them.
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
