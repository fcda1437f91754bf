import { type Call, type Event, isNamed } from './calls.ts';

/** Events that tell of one message sent or received. */
export function xcmMessages(events: readonly Event[]): readonly Event[] {
  return events.filter(
    (event) =>
      isNamed(event, 'xcmpQueue', 'XcmpMessageSent', 'Success', 'Fail') ||
      isNamed(event, 'parachainSystem', 'UpwardMessageSent') ||
      isNamed(event, 'messageQueue', 'Processed') ||
      isNamed(event, 'dmpQueue', 'ExecutedDownward'),
  );
}

/** A message that could not even be processed fails without having been counted as a message. */
export function xcmFailures(events: readonly Event[]): readonly Event[] {
  return events.filter(
    (event) =>
      isNamed(event, 'xcmpQueue', 'Fail') ||
      isNamed(event, 'messageQueue', 'ProcessingFailed') ||
      (isNamed(event, 'messageQueue', 'Processed') && event.data[3] === false),
  );
}

/** Calls that move value to another chain. */
export function xcmTransfers(calls: readonly Call[]): readonly Call[] {
  const moving = [
    'reserveTransferAssets',
    'limitedReserveTransferAssets',
    'teleportAssets',
    'limitedTeleportAssets',
    'transferAssets',
    'transferAssetsUsingTypeAndThen',
  ];
  const movingOrml = [
    'transfer',
    'transferMultiasset',
    'transferWithFee',
    'transferMultiassetWithFee',
    'transferMulticurrencies',
    'transferMultiassets',
  ];
  return calls.filter(
    (call) =>
      isNamed(call, 'polkadotXcm', ...moving) ||
      isNamed(call, 'xcmPallet', ...moving) ||
      isNamed(call, 'xTokens', ...movingOrml),
  );
}
