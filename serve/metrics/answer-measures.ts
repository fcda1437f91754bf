import { Counter, Gauge } from 'prom-client';

/** What the cache of answers measures. */
export const answerMeasures = () => {
  const measures = {
    lookups: new Counter({
      name: 'chain_metrics_answer_cache_requests_total',
      help: 'Requests for metrics by whether their answer was in the cache: hit or miss.',
      labelNames: ['result'],
      registers: [],
    }),
    bytes: new Gauge({
      name: 'chain_metrics_answer_cache_size_bytes',
      help: 'Bytes of the cached answers.',
      registers: [],
    }),
  };
  for (const result of ['hit', 'miss']) measures.lookups.inc({ result }, 0);
  return measures;
};

export type AnswerMeasures = ReturnType<typeof answerMeasures>;
