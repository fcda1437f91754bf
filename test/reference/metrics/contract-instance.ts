import { isoOf } from '../calendar.ts';
import { type Deployment, deploymentsOf, listedCode, printActor } from '../contracts.ts';
import type { Input } from '../input.ts';
import { compareKeys } from '../rows.ts';

export type ContractInstance = {
  relay_chain: string;
  chain: string;
  contract_address: string;
  deployer: string;
  deployer_account: string | null;
  code_hash: string | null;
  block_number: number;
  block_timestamp: string;
  extrinsic_id: string | null;
  extrinsic_hash: string | null;
  deploy_method: string;
  value: number | null;
  value_planck: string | null;
};

const METHODS: Readonly<Record<string, string>> = {
  instantiate: 'instantiate',
  instantiateWithCode: 'instantiate_with_code',
  ethInstantiateWithCode: 'eth_instantiate_with_code',
  ethTransact: 'eth_transact',
};

/** The newest first. */
export function contractInstances(input: Input): ContractInstance[] {
  const last = new Map<string, Deployment>();
  for (const one of deploymentsOf(input)) last.set(`${one.block.chain.name} ${one.contract}`, one);
  return [...last.values()]
    .filter(({ block }) => ['polkadot', 'kusama', 'solo'].includes(block.chain.relay))
    .toSorted((a, b) => compareKeys(placeOf(a), placeOf(b)))
    .map((one) => rowOf(input, one));
}

const placeOf = ({ block, extrinsic, contract }: Deployment) => [
  -block.height,
  -(extrinsic?.index ?? 0),
  contract,
];

function rowOf(input: Input, { block, extrinsic, contract, deployer, call }: Deployment): ContractInstance {
  const { chain, height, time } = block;
  return {
    relay_chain: chain.relay,
    chain: chain.name,
    contract_address: contract,
    deployer,
    deployer_account: printActor(call, block),
    code_hash: call?.codeHash ?? listedCode(input, chain.name, contract),
    block_number: height,
    block_timestamp: isoOf(time),
    extrinsic_id: extrinsic && `${height}-${extrinsic.index}`,
    extrinsic_hash: extrinsic?.hash ?? null,
    deploy_method: METHODS[call?.method ?? ''] ?? 'internal',
    value: call?.value ?? null,
    value_planck: call?.value_planck ?? null,
  };
}
