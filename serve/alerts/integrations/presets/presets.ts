import { cloudwatch } from './cloudwatch.ts';
import { datadog } from './datadog.ts';
import type { Preset } from './preset.ts';
import { sentry } from './sentry.ts';
import { uptimeKuma } from './uptime-kuma.ts';
import { zabbix } from './zabbix.ts';

/** API, pages and snippets derive from this list. */
export const PRESETS: readonly Preset[] = [uptimeKuma, datadog, zabbix, sentry, cloudwatch];

export const PRESET_NAMES = PRESETS.map(({ name }) => name);

/** Headers in which senders sign their bodies. */
export const SIGNATURE_HEADERS = PRESETS.flatMap(({ signatureHeader }) => signatureHeader ?? []);

/** Null for an integration without a preset. */
export const presetOf = (stored: { readonly preset: string }): Preset | null =>
  PRESETS.find(({ name }) => name === stored.preset) ?? null;
