import type { Severity } from '../../../aggregate/alerts/model/alert.ts';
import { slackText } from './escape.ts';
import type { PageMessage } from './message.ts';
import type { RenderedTexts } from './templates.ts';
import { bodyOf, factsOf, firstAlert, headlineOf, projectNameOf, tagOf } from './texts.ts';

const BODY_CHARACTERS = 3000;
/** Longer values of fields are not shown side by side. */
const SHORT_CHARACTERS = 40;

const COLORS: Readonly<Record<Severity, string>> = {
  critical: '#d32f2f',
  high: '#d32f2f',
  medium: '#f57c00',
  low: '#fbc02d',
  info: '#757575',
  unknown: '#757575',
};
const RESOLVED_COLOR = '#388e3c';

/** The body for an incoming webhook of Slack; Mattermost, Rocket.Chat and Discord accept it too. */
export function slackBody(message: PageMessage, texts: RenderedTexts = {}): object {
  const alert = firstAlert(message);
  const title = texts.title ?? slackText(headlineOf(message));
  const headline = texts.title ?? `[${tagOf(message)}] ${title}`;
  const started = Date.parse(alert.started_at);
  const facts = texts.text === undefined ? factsOf(message) : [];
  const fields = facts.map(({ name, value }) => ({
    title: name,
    value: slackText(value),
    short: value.length <= SHORT_CHARACTERS,
  }));
  const attachment = {
    fallback: headline,
    color: message.event === 'resolved' ? RESOLVED_COLOR : COLORS[alert.severity],
    title,
    title_link: alert.url,
    text: texts.text ?? slackText(bodyOf(message, BODY_CHARACTERS)),
    fields,
    footer: slackText(projectNameOf(message)),
    ...(Number.isNaN(started) ? {} : { ts: Math.floor(started / 1000) }),
    mrkdwn_in: ['text'],
  };
  return { text: headline, attachments: [attachment] };
}
