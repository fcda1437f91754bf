import { z } from 'zod';
import { SEVERITIES } from '../../../aggregate/alerts/model/alert.ts';
import { RULED_FIELDS, type SenderRules } from '../../../aggregate/alerts/model/sender-rules.ts';
import { RequestRefused } from '../model/access.ts';

const PATHS_MAX = 5;
const WORDS_MAX = 100;
const LABELS_MAX = 20;
/** Bounded, because each stored delivery contains the rules. */
const RULES_BYTES_MAX = 8192;

/** Names of prototype properties. Rules read own properties only, so these are mistakes or attacks. */
const NO_FIELDS = new Set(['__proto__', 'constructor', 'prototype']);

const step = z.union([
  z
    .string()
    .min(1)
    .max(255)
    .refine((name) => !NO_FIELDS.has(name), { message: 'is not a field of a payload' }),
  z.int().min(0).max(9999),
]);
const path = z
  .array(step)
  .min(1)
  .max(20)
  .describe('path in the payload: names of fields and indexes of lists');
const words = z.array(z.string().trim().min(1).max(200)).max(WORDS_MAX).default([]);
const isSmall = (record: object, max: number) => Object.keys(record).length <= max;

export const rulesSchema = z
  .strictObject({
    tool: z.string().trim().min(1).max(100).optional().describe('monitoring tool, if the payload has none'),
    fields: z
      .partialRecord(z.enum(RULED_FIELDS), z.array(path).min(1).max(PATHS_MAX))
      .optional()
      .describe('paths of the fields of an alert; the first path with a value counts'),
    status: z
      .strictObject({ path, resolved: words, acknowledged: words, ignored: words })
      .optional()
      .describe(
        'values at `path` that resolve, acknowledge or are ignored; every other value fires. Without this rule, an end time resolves the alert',
      ),
    fingerprint: z
      .array(z.array(path).min(1).max(PATHS_MAX))
      .min(1)
      .max(PATHS_MAX)
      .optional()
      .describe('lists of paths; the values of the first list without a blank value form the fingerprint'),
    severity: z
      .strictObject({
        path,
        words: z
          .record(z.string().trim().min(1).max(200), z.enum(SEVERITIES))
          .refine((record) => isSmall(record, WORDS_MAX), { message: `has more than ${WORDS_MAX} words` }),
        otherwise: z.enum(SEVERITIES),
      })
      .optional(),
    labels: z
      .record(
        z
          .string()
          .regex(/^[^\s=]{1,128}$/, 'a name has up to 128 characters without spaces and equals signs'),
        path,
      )
      .refine((record) => isSmall(record, LABELS_MAX), { message: `has more than ${LABELS_MAX} labels` })
      .optional()
      .describe('labels by name'),
  })
  .refine((rules) => Buffer.byteLength(JSON.stringify(rules)) <= RULES_BYTES_MAX, {
    message: `is larger than ${RULES_BYTES_MAX} bytes`,
  })
  .describe('how to read the payloads of a sender; words are compared without regard to case');

/** Parses rules that a member entered. An error names the invalid part. */
export function requireRules(entered: unknown): SenderRules {
  const parsed = rulesSchema.safeParse(entered);
  if (parsed.success) return parsed.data as SenderRules;
  const [issue] = parsed.error.issues;
  const part = ['rules', ...(issue?.path ?? [])].join('.');
  throw new RequestRefused('bad_request', `${part}: ${issue?.message}.`, part);
}

/** The stored form; '' for no rules. */
export const rulesColumn = (rules: SenderRules | null): string =>
  rules === null || Object.keys(rules).length === 0 ? '' : JSON.stringify(rules);

export const storedRules = (text: string): SenderRules | null =>
  text === '' ? null : (JSON.parse(text) as SenderRules);
