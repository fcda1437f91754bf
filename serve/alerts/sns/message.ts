import { z } from 'zod';
import { BodyError } from '../../../aggregate/alerts/formats/delivery.ts';
import { isObject, oneLine } from '../../../aggregate/alerts/formats/values.ts';
import { amazonUrl } from './amazon.ts';
import { TOPIC_ARN } from './topics.ts';

const text = z.string().min(1);
const url = text.refine(
  (given) => amazonUrl(given) !== null,
  'expected an https URL of sns.REGION.amazonaws.com',
);
/** No query: on this host, API responses can echo text of the sender. */
const isCertificate = (given: string): boolean => {
  const { pathname = '', search = '' } = URL.parse(given) ?? {};
  return pathname.endsWith('.pem') && search === '';
};

const common = {
  MessageId: text.max(255),
  TopicArn: text.regex(TOPIC_ARN, 'expected the ARN of a topic'),
  Message: z.string(),
  Timestamp: z.iso.datetime(),
  SignatureVersion: z.enum(['1', '2']),
  Signature: z.base64(),
  SigningCertURL: url.refine(isCertificate, 'expected the URL of a certificate'),
};
const confirmation = { ...common, Token: text, SubscribeURL: url };

const envelope = z.discriminatedUnion('Type', [
  z.object({ Type: z.literal('Notification'), ...common, Subject: z.string().nullish() }),
  z.object({ Type: z.literal('SubscriptionConfirmation'), ...confirmation }),
  z.object({ Type: z.literal('UnsubscribeConfirmation'), ...confirmation }),
]);
export type SnsMessage = z.output<typeof envelope>;

/** A message as Amazon SNS posts it. */
export function parseSnsMessage(payload: unknown): SnsMessage {
  const parsed = envelope.safeParse(payload);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const hint =
    isObject(payload) && 'Type' in payload ? '' : ' Turn off raw message delivery of the subscription.';
  throw new BodyError(
    422,
    `Not a message of Amazon SNS: ${issue?.path.join('.') || 'body'}: ${issue?.message}.${hint}`,
  );
}

/** The text that Amazon SNS signs: pairs of name and value, sorted by name. */
export function signedText(message: SnsMessage): string {
  const { Message, MessageId, Timestamp, TopicArn, Type } = message;
  const pairs = Object.entries({
    ...{ Message, MessageId, Timestamp, TopicArn, Type },
    ...(message.Type === 'Notification'
      ? { Subject: message.Subject ?? undefined }
      : { SubscribeURL: message.SubscribeURL, Token: message.Token }),
  }).filter(([, value]) => value !== undefined);
  return pairs
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}\n${value}\n`)
    .join('');
}

/** The generic payload of a message: its text if that is a JSON object, else an object of its subject and text. */
export function payloadOf({ Message, Timestamp, ...rest }: SnsMessage & { Type: 'Notification' }): Buffer {
  if (isJsonObject(Message)) return Buffer.from(Message);
  const [firstLine = ''] = Message.trim().split('\n', 1);
  const title = rest.Subject || oneLine(firstLine);
  return Buffer.from(JSON.stringify({ title, description: Message, start_time: Timestamp }));
}

function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}
