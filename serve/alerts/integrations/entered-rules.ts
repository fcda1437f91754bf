import { z } from 'zod';
import { SEVERITIES } from '../../../aggregate/alerts/model/alert.ts';
import { RULED_FIELDS, type SenderRules } from '../../../aggregate/alerts/model/sender-rules.ts';
import { RequestRefused } from '../model/access.ts';

const PATHS_MAX = 5;
const WORDS_MAX = 100;
const LABELS_MAX = 20;
/** Rules travel with every delivery. */
const RULES_BYTES_MAX = 8192;

/** Reading is safe from them: only own properties are read. No sender has such a field, so it is a mistake or an attack. */
const NO_FIELDS = new Set(['__proto__', 'constructor', 'prototype']);

const step = z.union([
  z
    .string()
    .min(1)
    .max(255)
    .refine((name) => !NO_FIELDS.has(name), { message: 'is the name of no field of a payload' }),
  z.int().min(0).max(9999),
]);
const path = z.array(step).min(1).max(20).describe('steps into the payload: names and indexes');
const words = z.array(z.string().trim().min(1).max(200)).max(WORDS_MAX).default([]);
const isSmall = (record: object, max: number) => Object.keys(record).length <= max;

export const rulesSchema = z
  .strictObject({
    tool: z.string().trim().min(1).max(100).optional().describe('monitoring tool of payloads that name none'),
    fields: z
      .partialRecord(z.enum(RULED_FIELDS), z.array(path).min(1).max(PATHS_MAX))
      .optional()
      .describe('where fields are: the first path with a value is read'),
    status: z
      .strictObject({ path, resolved: words, acknowledged: words, ignored: words })
      .optional()
      .describe('words that do not fire; every other one does. Without a status, an end time resolves'),
    fingerprint: z
      .array(z.array(path).min(1).max(PATHS_MAX))
      .min(1)
      .max(PATHS_MAX)
      .optional()
      .describe('alternatives, each a list of paths; the first without a blank value counts'),
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
  .describe('how to read payloads of a sender that cannot be changed; words are compared without case');

/** Rules that a member entered. A refusal names the part that is wrong. */
export function requireRules(entered: unknown): SenderRules {
  const parsed = rulesSchema.safeParse(entered);
  if (parsed.success) return parsed.data as SenderRules;
  const [issue] = parsed.error.issues;
  const part = ['rules', ...(issue?.path ?? [])].join('.');
  throw new RequestRefused('bad_request', `${part}: ${issue?.message}.`, part);
}

/** As rules are stored; '' for none. */
export const rulesText = (rules: SenderRules | null): string =>
  rules === null || Object.keys(rules).length === 0 ? '' : JSON.stringify(rules);

export const rulesIn = (text: string): SenderRules | null =>
  text === '' ? null : (JSON.parse(text) as SenderRules);
