import { type Agent, get } from 'node:https';

// Sends requests to Amazon SNS, to URLs in messages.

const REQUEST_MS_MAX = 10_000;
const RESPONSE_BYTES_MAX = 64 * 1024;

/** Requires a region, because `sns.s3.amazonaws.com` is a bucket that anybody can own. */
const HOST = /^sns\.[a-z]{2}(?:-[a-z]+){1,2}-\d\.amazonaws\.com(?:\.cn)?$/;

/** The URL, if it leads to Amazon SNS; else null. */
export function amazonUrl(text: string): URL | null {
  const url = URL.parse(text);
  const isAmazon =
    url?.protocol === 'https:' &&
    HOST.test(url.hostname) &&
    url.port === '' &&
    url.username === '' &&
    url.password === '';
  return isAmazon ? url : null;
}

/** Returns the body of a response with status 200. A redirect is a failure, because it may lead anywhere. */
export function getFromAmazon(url: URL, agent: Agent): Promise<Buffer> {
  return new Promise((done, failed) => {
    const options = {
      agent,
      signal: AbortSignal.timeout(REQUEST_MS_MAX),
      headers: { 'user-agent': 'Chain-Metrics' },
    };
    get(url, options, (response) => {
      const { statusCode: status = 0 } = response;
      if (status !== 200) {
        response.destroy();
        failed(new Error(`${url.host} answered ${status}`));
        return;
      }
      const parts: Buffer[] = [];
      let bytes = 0;
      response.on('data', (part: Buffer) => {
        parts.push(part);
        bytes += part.length;
        if (bytes > RESPONSE_BYTES_MAX)
          response.destroy(new Error(`${url.host} answered more than ${RESPONSE_BYTES_MAX} bytes`));
      });
      response.on('end', () => done(Buffer.concat(parts)));
      response.on('error', failed);
    }).on('error', failed);
  });
}
