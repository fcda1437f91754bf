import { type KeyObject, verify } from 'node:crypto';
import { DAY_MS } from '../../../infra/days.ts';
import { reasonOf } from '../../../infra/errors.ts';
import type { Clock } from '../../../infra/ports.ts';
import { HttpError, RETRY_SOON } from '../../http/errors.ts';
import type { Integrations } from '../integrations/integrations.ts';
import type { IntegrationSummary } from '../model/tables.ts';
import type { SigningCertificates } from '../sns/certificates.ts';
import { parseSnsMessage, payloadOf, type SnsMessage, signedText } from '../sns/message.ts';
import type { SnsSubscriptions } from '../sns/subscriptions.ts';

interface SnsIntakeDependencies {
  readonly integrations: Integrations;
  readonly certificates: SigningCertificates;
  readonly subscriptions: SnsSubscriptions;
  readonly clock: Clock;
}

/** The alert in a message, and the id of the message, which all attempts to send it share. */
interface SnsNotification {
  readonly body: Buffer;
  readonly id: string;
}

/** Ids are remembered for a day, so an older message could count twice. Amazon retries for a few hours at most. */
const AGE_MS_MAX = DAY_MS;
const DIGESTS = { 1: 'RSA-SHA1', 2: 'RSA-SHA256' } as const;

/** Accepts messages that Amazon SNS signed, from the topics of an integration. */
export class SnsIntake {
  readonly #deps: SnsIntakeDependencies;

  constructor(dependencies: SnsIntakeDependencies) {
    this.#deps = dependencies;
  }

  /** Throws if the message is refused. Returns null for a message about a subscription; a job confirms it later. */
  async read(integration: IntegrationSummary, payload: unknown): Promise<SnsNotification | null> {
    const message = parseSnsMessage(payload);
    await this.#requireSigned(message);
    if (!(await this.#deps.integrations.acceptTopic(integration, message.TopicArn))) {
      throw new HttpError(
        'forbidden',
        'The integration does not accept this topic. A Maintainer can add its ARN to the topics.',
      );
    }
    if (message.Type === 'Notification') return { body: payloadOf(message), id: message.MessageId };
    if (message.Type === 'SubscriptionConfirmation')
      await this.#deps.subscriptions.add(integration, message.TopicArn, message.SubscribeURL);
    return null;
  }

  async #requireSigned(message: SnsMessage): Promise<void> {
    const { certificates, clock } = this.#deps;
    if (clock.now() - Date.parse(message.Timestamp) > AGE_MS_MAX)
      throw new HttpError(
        'forbidden',
        'The message is older than a day. Check the clocks of this server and the sender.',
      );
    const key = await certificates.keyOf(new URL(message.SigningCertURL)).catch((error: unknown) => {
      const text = `The certificate of the message cannot be fetched: ${reasonOf(error)}. Retry the request.`;
      throw new HttpError('unavailable', text, RETRY_SOON);
    });
    if (!isSigned(message, key)) throw new HttpError('forbidden', 'The signature of the message is wrong.');
  }
}

function isSigned(message: SnsMessage, key: KeyObject): boolean {
  if (key.asymmetricKeyType !== 'rsa') return false;
  const digest = DIGESTS[message.SignatureVersion];
  return verify(digest, Buffer.from(signedText(message)), key, Buffer.from(message.Signature, 'base64'));
}
