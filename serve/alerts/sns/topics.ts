import { RequestRefused } from '../model/access.ts';

const TOPICS_MAX = 20;
export const TOPIC_ARN = /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w-]{1,256}(?:\.fifo)?$/;

export function requireTopics(topics: readonly string[]): void {
  if (topics.length > TOPICS_MAX)
    throw new RequestRefused('bad_request', `Enter at most ${TOPICS_MAX} topics.`, 'topics');
  const wrong = topics.find((topic) => !TOPIC_ARN.test(topic));
  if (wrong !== undefined)
    throw new RequestRefused('bad_request', `${wrong}: expected the ARN of a topic of Amazon SNS.`, 'topics');
}
