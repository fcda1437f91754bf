import type { Mail } from '../../mail/mailer.ts';
import { html } from '../../pages/html.ts';
import type { PageMessage } from './message.ts';
import type { RenderedTexts } from './templates.ts';
import { bodyOf, factsOf, firstAlert, headlineOf, projectNameOf, tagOf } from './texts.ts';

const BODY_CHARACTERS = 10_000;

/** A mail in text and HTML. It has no images, and only links to this server. */
export function mailOf(message: PageMessage, to: string, texts: RenderedTexts = {}): Mail {
  const { key, project } = message;
  const { iid, severity } = firstAlert(message);
  const headline = texts.title ?? `[${tagOf(message)}] ${headlineOf(message)}`;
  const body = texts.text ?? bodyOf(message, BODY_CHARACTERS);
  const content = { headline, body, facts: texts.text === undefined ? factsOf(message) : [], message };
  return {
    to,
    subject: texts.title ?? `${headline} (${iid === 0 ? '' : `#${iid} `}${projectNameOf(message)})`,
    text: textOf(content),
    html: htmlOf(content),
    id: key,
    thread: `page.${project.id}.${iid}`,
    isImportant: severity === 'critical' || severity === 'high',
  };
}

interface MailContent {
  readonly headline: string;
  readonly body: string;
  readonly facts: ReturnType<typeof factsOf>;
  readonly message: PageMessage;
}

function textOf({ headline, body, facts: list, message }: MailContent): string {
  const facts = list.map(({ name, value }) => `${name}: ${value}`);
  const links = linksOf(message).map(({ text, url }) => `${text}: ${url}`);
  const blocks = [headline, body, facts.join('\n'), links.join('\n')];
  return `${blocks.filter((block) => block !== '').join('\n\n')}\n`;
}

function htmlOf({ headline, body, facts: list, message }: MailContent): string {
  const facts = list.map(({ name, value }) => html`<tr><th align="left">${name}</th><td>${value}</td></tr>`);
  const links = linksOf(message).map(({ text, url }) => html`<p><a href="${url}">${text}</a></p>`);
  return html`<!doctype html><html lang="en"><body style="font-family:sans-serif">
<h1 style="font-size:18px">${headline}</h1>
<p style="white-space:pre-wrap">${body}</p>
<table>${facts}</table>
${links}
</body></html>`.text;
}

const linksOf = (message: PageMessage) => [
  ...(message.acknowledgeUrl === '' ? [] : [{ text: 'Acknowledge', url: message.acknowledgeUrl }]),
  { text: 'Open', url: firstAlert(message).url },
];
