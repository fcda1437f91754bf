import type { DestinationType } from '../messages/destination.ts';

interface SettingLabel {
  readonly label: string;
  readonly hint: string;
}

interface DestinationLabel {
  readonly label: string;
  /** Labels of the settings, by name. */
  readonly settings: Readonly<Record<string, SettingLabel>>;
}

const WEBHOOK_HINT = 'An http or https URL without credentials. It receives page events as JSON.';

/** Labels of the types of channels and contacts, and of their settings. */
export const DESTINATION_LABELS: Readonly<Record<DestinationType, DestinationLabel>> = {
  email: {
    label: 'E-mail',
    settings: { address: { label: 'E-mail address', hint: 'For example, a mailing list of the team.' } },
  },
  slack: {
    label: 'Slack or compatible',
    settings: {
      url: {
        label: 'Incoming webhook URL',
        hint: 'Anyone with this URL can post to the channel, so it is not shown again. Mattermost, Rocket.Chat and Discord accept the same messages. For Discord, append /slack to the URL.',
      },
    },
  },
  teams: {
    label: 'Microsoft Teams',
    settings: {
      url: {
        label: 'Workflow URL',
        hint: 'The URL of a workflow that posts to a channel when it receives a webhook request. It is not shown again.',
      },
    },
  },
  pagerduty: {
    label: 'PagerDuty',
    settings: {
      routing_key: {
        label: 'Integration key',
        hint: 'The key of an Events API v2 integration: 32 letters and digits. It is not shown again.',
      },
      url: { label: 'API URL', hint: 'Optional. For the EU service region or a compatible tool.' },
    },
  },
  telegram: {
    label: 'Telegram',
    settings: {
      chat_id: {
        label: 'Chat',
        hint: 'The number of a chat that the bot of this server is in, or the @name of a public channel.',
      },
    },
  },
  webhook: {
    label: 'Webhook',
    settings: {
      url: { label: 'URL', hint: WEBHOOK_HINT },
      secret: {
        label: 'Signing secret',
        hint: 'Optional: 16 to 255 letters, digits and symbols. It signs the requests. It is not shown again.',
      },
    },
  },
};
