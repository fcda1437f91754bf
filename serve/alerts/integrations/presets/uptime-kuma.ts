import type { Preset } from './preset.ts';

/** Reads `heartbeat.status`: 0 is down, 1 up, 2 pending, 3 maintenance. Test notifications have no heartbeat. */
export const uptimeKuma: Preset = {
  name: 'uptime_kuma',
  label: 'Uptime Kuma',
  type: 'http',
  rules: {
    tool: 'Uptime Kuma',
    fields: {
      title: [['msg']],
      description: [['heartbeat', 'msg']],
      start_time: [['heartbeat', 'time']],
      end_time: [['heartbeat', 'time']],
      service: [['monitor', 'name']],
      hosts: [
        ['monitor', 'hostname'],
        ['monitor', 'url'],
      ],
    },
    status: { path: ['heartbeat', 'status'], resolved: ['1'], acknowledged: [], ignored: ['2', '3'] },
    fingerprint: [[['monitor', 'id']]],
    labels: { monitor: ['monitor', 'name'], monitor_type: ['monitor', 'type'] },
  },
  sample: {
    heartbeat: {
      monitorID: 29,
      status: 0,
      time: '2026-11-24 23:51:35.527',
      msg: 'getaddrinfo ENOTFOUND shop.example.com',
      important: true,
      duration: 0,
      timezone: 'Europe/Berlin',
      timezoneOffset: '+01:00',
      localDateTime: '2026-11-25 00:51:35',
    },
    monitor: {
      id: 29,
      name: 'Shop',
      url: 'https://shop.example.com',
      hostname: null,
      port: null,
      type: 'http',
      interval: 60,
      tags: [],
    },
    msg: '[Shop] [🔴 Down] getaddrinfo ENOTFOUND shop.example.com',
  },
  setup: ({ generic, key }) => ({
    title: 'Uptime Kuma notification',
    hint: 'Add a notification in Settings, Notifications. Select it in each monitor. A test of the notification creates a real alert.',
    text: `Notification type:  Webhook
Post URL:           ${generic}
Request body:       Preset - application/json
Additional headers: {"Authorization": "Bearer ${key}"}
`,
  }),
};
