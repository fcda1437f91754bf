import { Transaction } from 'micro-eth-signer';
import type { Random } from '../../ingest/demo/random.ts';
import { h160Of } from '../reference/derived.ts';
import type { Chain } from '../reference/registry.ts';
import type { ShapedEvent, ShapedExtrinsic } from '../reference/shaped.ts';
import { PEOPLE, printed, SECRETS, SENDERS } from './accounts.ts';
import { amountOf, hashOf, type Maker } from './actions.ts';
import { legacyPayload } from './ethereum.ts';
import { feeEvents, outcomes } from './transactions.ts';

const CODES = ['11', '22', '33'].map((byte) => `0x${byte.repeat(32)}`);
/** Gas that 53, 64 and 128 bits do not hold, and the largest. */
const LARGE_GAS = [2n ** 53n + 1n, 2n ** 64n + 3n, 2n ** 128n + 5n, 2n ** 200n + 7n, 2n ** 256n - 1n];

/** The contracts of one asset hub. */
export class ContractModel {
  readonly #random: Random;
  readonly #contracts: string[] = [];
  /** The runtime tells of every contract that it makes. */
  readonly #isWhole: boolean;

  constructor(random: Random, isWhole: boolean) {
    this.#random = random;
    this.#isWhole = isWhole;
  }

  action(): Maker {
    const random = this.#random;
    const refTime = random.chance(0.1) ? random.pick(LARGE_GAS) : random.whole(1, 10 ** 9);
    const weight_limit = { refTime: String(refTime), proofSize: '5' };
    const common = {
      value: amountOf(random, BigInt(random.whole(0, 10 ** 9))),
      [random.pick(['weight_limit', 'gas_limit'])]: weight_limit,
      storage_deposit_limit: random.chance(0.5) ? null : String(random.whole(0, 10 ** 9)),
      data: random.pick(['0x', '0x0102', '0xdeadbeef', '0xdeadbeef00112233']),
    };
    if (random.chance(0.6)) {
      const dest = this.#target();
      return () => ({ call: 'revive.call', args: { dest, ...common }, perform: () => this.#called(dest) });
    }
    if (random.chance(0.3)) return this.#ofEthereum();
    const withCode = random.chance(0.5);
    const code = withCode ? { code: '0x00' } : { code_hash: random.pick(CODES) };
    if (!this.#isWhole && random.chance(0.1)) return this.#older(code);
    return (actor) => ({
      call: withCode ? 'revive.instantiateWithCode' : 'revive.instantiate',
      args: { ...common, ...code, salt: null },
      perform: () => this.#createdByCall(h160Of(actor)),
    });
  }

  /** The pallet before revive, whose contracts are not served. */
  #older(code: object): Maker {
    const method = 'code' in code ? 'instantiateWithCode' : 'instantiate';
    const isTold = this.#random.chance(0.7);
    const told: ShapedEvent = ['contracts.Made', 'by', 'it'];
    const instantiated: ShapedEvent = ['contracts.Instantiated', PEOPLE[0], PEOPLE[1]];
    return () => ({
      call: `contracts.${method}`,
      args: { value: '0', ...code, data: '0x', salt: '0x' },
      perform: () => (isTold ? [told, instantiated] : [told]),
    });
  }

  /** What a call creates; some runtimes do not tell. */
  #createdByCall(deployer: string): readonly ShapedEvent[] {
    const isSilent = !this.#isWhole && this.#random.chance(0.12);
    return isSilent ? [] : this.#created(deployer);
  }

  /** Calls into which runtimes turn Ethereum transactions, as others may nest them. */
  #ofEthereum(): Maker {
    const random = this.#random;
    const value = String(BigInt(random.whole(0, 10 ** 6)) * 10n ** 12n);
    if (random.chance(0.4)) {
      return (actor) => ({
        call: 'revive.ethInstantiateWithCode',
        args: { value, code: '0x00', data: '0x6001' },
        perform: () => this.#createdByCall(h160Of(actor)),
      });
    }
    const dest = random.chance(0.8) ? this.#target() : `0x${'dd'.repeat(20)}`;
    return () => ({
      call: 'revive.ethCall',
      args: {
        dest,
        value,
        data: random.pick(['0x', '0xa9059cbb00']),
        ...(random.chance(0.5) ? { effective_gas_price: String(random.pick([12n, ...LARGE_GAS])) } : {}),
      },
      perform: () =>
        random.chance(0.2) ? [['revive.EthExtrinsicRevert', { module: {} }]] : this.#called(dest),
    });
  }

  /** An Ethereum transaction, which comes without a signature of its own. */
  ethereum(chain: Chain): ShapedExtrinsic {
    const random = this.#random;
    const sender = random.whole(0, SECRETS.length - 1);
    const isCreation = random.chance(0.3);
    const to = isCreation ? undefined : random.pick([this.#target(), `0x${'dd'.repeat(20)}`]);
    const fields = {
      to: to ?? '0x',
      value: BigInt(random.whole(0, 10 ** 6)) * 10n ** 12n,
      nonce: BigInt(random.whole(0, 99)),
      gasLimit: BigInt(random.whole(21_000, 10 ** 6)),
      data: isCreation ? '0x6001' : random.pick(['0x', '0xa9059cbb00', '0xa905']),
    };
    const payload = random.chance(0.25)
      ? legacyPayload(
          { ...fields, to: to ?? '0x', gasLimit: random.pick(LARGE_GAS), gasPrice: random.pick(LARGE_GAS) },
          SECRETS[sender] as string,
        )
      : payloadOf(random, SECRETS[sender] as string, fields);
    const success = !random.chance(0.1);
    const isReverted = success && random.chance(0.15);
    const happened = !success
      ? []
      : isReverted
        ? ([['revive.EthExtrinsicRevert', { module: {} }]] as const)
        : to === undefined
          ? this.#createdByCall(SENDERS[sender] as string)
          : this.#called(to);
    const paid = random.chance(0.5)
      ? []
      : feeEvents(random, printed(random, PEOPLE[sender] as string, chain));
    return {
      call: 'revive.ethTransact',
      args: { payload },
      hash: hashOf(random),
      success,
      ...outcomes(random, this.#isWhole, success, [...happened, ...paid]),
    };
  }

  /** What the state lists: not always every contract, and some that no block told of. */
  state(chain: Chain): object {
    const random = this.#random;
    const listed = this.#contracts.filter(() => random.chance(0.8));
    const code = CODES.filter(() => random.chance(0.8)).map((code_hash) => ({
      code_hash,
      owner: printed(random, random.pick(PEOPLE), chain),
      code_type: random.pick(['PVM', 'EVM']),
      code_len: random.whole(1, 10 ** 6),
      deposit: String(random.whole(0, 10 ** 9)),
      refcount: random.whole(0, 9),
      behaviour_version: random.whole(0, 1),
    }));
    const contracts = [...listed, `0x${'ee'.repeat(20)}`].map((contract_address) => ({
      contract_address,
      code_hash: random.pick(CODES),
      storage_bytes: random.whole(0, 10 ** 6),
      storage_items: random.whole(0, 99),
    }));
    return { code, contracts };
  }

  #target(): string {
    const unknown = `0x${this.#random.pick(['c1', 'c2']).repeat(20)}`;
    return this.#contracts.length > 0 && this.#random.chance(0.8)
      ? this.#random.pick(this.#contracts)
      : unknown;
  }

  #called(contract: string): readonly ShapedEvent[] {
    const emitters = Array.from({ length: this.#random.whole(0, 2) }, () =>
      this.#random.chance(0.7) ? contract : this.#target(),
    );
    const emitted = emitters.map((emitter): ShapedEvent => ['revive.ContractEmitted', emitter, '0x', []]);
    // A contract may create another one.
    return this.#random.chance(0.15) ? [...emitted, ...this.#created(contract)] : emitted;
  }

  #created(deployer: string): readonly ShapedEvent[] {
    const contract = hashOf(this.#random).slice(0, 42);
    this.#contracts.push(contract);
    const inner = this.#random.chance(0.15) ? this.#created(contract) : [];
    return [...inner, ['revive.Instantiated', deployer, contract]];
  }
}

type Fields = {
  readonly to: string;
  readonly value: bigint;
  readonly nonce: bigint;
  readonly gasLimit: bigint;
  readonly data: string;
};

/** A transaction as wallets sign it. */
function payloadOf(random: Random, secret: string, fields: Fields): string {
  const price = BigInt(random.whole(1, 10 ** 9));
  const typed = random.chance(0.5)
    ? { type: 'legacy', chainId: 420420419n, gasPrice: price, ...fields }
    : { type: 'eip1559', chainId: 420420419n, maxFeePerGas: price, maxPriorityFeePerGas: 1n, ...fields };
  return Transaction.prepare(typed as never, false)
    .signBy(secret)
    .toHex();
}
