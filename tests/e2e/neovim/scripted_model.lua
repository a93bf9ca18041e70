-- copydesk alone, as the test sets it up: a scripted model, and language servers of its own.
vim.filetype.add({ extension = { scripted = 'scripted' } })
vim.lsp.config('copydesk', {
  cmd = { vim.env.COPYDESK_TEST_BINARY },
  filetypes = { 'rust', 'typescript', 'scripted' },
  root_markers = { 'Cargo.toml', 'tsconfig.json', 'scripted.root' },
  init_options = vim.json.decode(vim.env.TEST_OPTIONS),
})
vim.lsp.enable('copydesk')
