import type { DestinationType, MessageTemplate } from '../messages/destination.ts';
import { checkTemplate, NO_TEMPLATE, TemplateError, type TemplatePart } from '../messages/templates.ts';
import { RequestRefused } from '../model/access.ts';

/** Absent: unchanged. Empty: the built-in text. null: all built-in texts. */
export type TemplateChanges = { readonly [Part in TemplatePart]?: string | undefined } | null;

/** Applies changes to a stored template. Throws `RequestRefused` with the part at fault. */
export function changedTemplate(type: DestinationType, before: string, changes: TemplateChanges): string {
  const stored = storedTemplate(before) ?? NO_TEMPLATE;
  const next =
    changes === null
      ? NO_TEMPLATE
      : {
          title: changes.title ?? stored.title,
          text: changes.text ?? stored.text,
          body: changes.body ?? stored.body,
        };
  try {
    checkTemplate(next, type);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new RequestRefused('bad_request', error.message, `template.${error.part}`);
  }
  return Object.values(next).every((text) => text === '') ? '' : JSON.stringify(next);
}

/** The template of a column; null for none. */
export const storedTemplate = (column: string): MessageTemplate | null =>
  column === '' ? null : (JSON.parse(column) as MessageTemplate);

/** The template as a field of `Destination`. */
export function templateOf(column: string): { readonly template?: MessageTemplate } {
  const template = storedTemplate(column);
  return template === null ? {} : { template };
}
